package clients;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.Auth;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.Election;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.Lease;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.auth.Permission;
import io.etcd.jetcd.election.CampaignResponse;
import io.etcd.jetcd.election.LeaderResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.LeaseOption;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.support.CloseableClient;
import io.etcd.jetcd.watch.WatchEvent;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Uses a cluster as programs in Java do, by jetcd: {@code Main SCENARIO} exits with 0 once the scenario went well.
 * "watch" prints "halfway" when the leader is to be killed.
 */
public final class Main {
  private static final int EVENTS = 200;

  private Main() {}

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, UTF_8);
  }

  private static void ensure(boolean condition, Object... words) {
    if (!condition) {
      throw new IllegalStateException(List.of(words).toString());
    }
  }

  private static <T> T get(CompletableFuture<T> future) throws Exception {
    return future.get(60, TimeUnit.SECONDS);
  }

  private static void refusedWith(CompletableFuture<?> future, String text) throws Exception {
    try {
      get(future);
    } catch (ExecutionException error) {
      ensure(String.valueOf(error.getCause().getMessage()).contains(text), "it is", error.getCause());
      return;
    }
    ensure(false, "not refused with", text);
  }

  private static Client connect(String user, String password) throws Exception {
    ClientBuilder builder = Client.builder();
    String ca = System.getenv("CACERT");
    List<String> endpoints = new ArrayList<>();
    for (String endpoint : System.getenv("ENDPOINTS").split(",")) {
      endpoints.add((ca == null ? "http://" : "https://") + endpoint);
    }
    builder.endpoints(endpoints.toArray(String[]::new));
    if (ca != null) {
      builder.sslContext(context -> context.trustManager(new File(ca))
          .keyManager(new File(System.getenv("CERT")), new File(System.getenv("KEY"))));
    }
    if (user != null) {
      builder.user(bytes(user)).password(bytes(password));
    }
    return builder.build();
  }

  private static void txn(Client client) throws Exception {
    KV kv = client.getKVClient();
    ByteSequence key = bytes("txn/a");
    TxnResponse answer = null;
    for (boolean expected : new boolean[] {true, false}) {
      answer = get(kv.txn().If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(0)))
          .Then(Op.put(key, bytes("1"), PutOption.DEFAULT)).Else(Op.get(key, GetOption.DEFAULT)).commit());
      ensure(answer.isSucceeded() == expected, "succeeded:", answer.isSucceeded());
    }
    ensure(answer.getGetResponses().get(0).getKvs().get(0).getValue().equals(bytes("1")), "it has another value");
    refusedWith(kv.get(key, GetOption.builder().withRevision(1L << 40).build()), "future revision");
  }

  private static void watch(Client client) throws Exception {
    KV kv = client.getKVClient();
    long begin = get(kv.get(bytes("watched"))).getHeader().getRevision();
    BlockingQueue<WatchEvent> seen = new LinkedBlockingQueue<>();
    WatchOption options = WatchOption.builder().isPrefix(true).withRevision(begin + 1).withRequireLeader(false).build();
    try (Watch.Watcher watcher = client.getWatchClient().watch(bytes("watched/"), options,
        answer -> seen.addAll(answer.getEvents()))) {
      Thread writer = new Thread(() -> write(kv));
      writer.setDaemon(true);
      writer.start();
      String newest = "";
      long last = begin;
      while (!newest.equals(String.format("watched/%03d", EVENTS - 1))) {
        WatchEvent event = seen.poll(60, TimeUnit.SECONDS);
        ensure(event != null, "no event after", newest);
        String key = event.getKeyValue().getKey().toString(UTF_8);
        long revision = event.getKeyValue().getModRevision();
        ensure(revision > last && key.compareTo(newest) >= 0, key, "came after", newest);
        newest = key;
        last = revision;
      }
    }
    long all = get(kv.get(bytes("watched/"), GetOption.builder().isPrefix(true).withCountOnly(true).build())).getCount();
    ensure(all == EVENTS, all, "keys");
  }

  private static void write(KV kv) {
    for (int i = 0; i < EVENTS; ++i) {
      if (i == EVENTS / 2) {
        System.out.println("halfway");
      }
      while (true) {
        try {
          kv.put(bytes(String.format("watched/%03d", i)), bytes("v")).get(2, TimeUnit.SECONDS);
          break;
        } catch (Exception again) {
          // The leader is gone: the same key again.
        }
      }
    }
  }

  private static void lease(Client client) throws Exception {
    Lease leases = client.getLeaseClient();
    KV kv = client.getKVClient();
    long id = get(leases.grant(3)).getID();
    get(kv.put(bytes("leased"), bytes("v"), PutOption.builder().withLeaseId(id).build()));
    BlockingQueue<LeaseKeepAliveResponse> renewed = new LinkedBlockingQueue<>();
    BlockingQueue<WatchEvent> seen = new LinkedBlockingQueue<>();
    try (Watch.Watcher watcher = client.getWatchClient().watch(bytes("leased"), answer -> seen.addAll(answer.getEvents()))) {
      try (CloseableClient keeper = leases.keepAlive(id, new StreamObserver<>() {
        @Override
        public void onNext(LeaseKeepAliveResponse answer) {
          renewed.add(answer);
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {}
      })) {
        for (int i = 0; i < 3; ++i) {
          LeaseKeepAliveResponse answer = renewed.poll(30, TimeUnit.SECONDS);
          ensure(answer != null && answer.getTTL() == 3, "the renewal is", String.valueOf(answer));
        }
      }
      WatchEvent event = seen.poll(60, TimeUnit.SECONDS);
      ensure(event != null && event.getEventType() == WatchEvent.EventType.DELETE, "it did not end");
    }
    ensure(get(leases.timeToLive(id, LeaseOption.DEFAULT)).getTTL() == -1, "it still has time");
    refusedWith(leases.revoke(id), "lease not found");
  }

  private static void lock(Client client) throws Exception {
    AtomicInteger inside = new AtomicInteger();
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int n = 0; n < 3; ++n) {
      all.add(CompletableFuture.runAsync(() -> {
        try {
          for (int i = 0; i < 5; ++i) {
            long id = get(client.getLeaseClient().grant(10)).getID();
            ByteSequence key = get(client.getLockClient().lock(bytes("locks/java"), id)).getKey();
            ensure(inside.incrementAndGet() == 1, "two hold the lock");
            inside.decrementAndGet();
            get(client.getLockClient().unlock(key));
          }
        } catch (Exception error) {
          throw new IllegalStateException(error);
        }
      }));
    }
    for (CompletableFuture<Void> one : all) {
      get(one);
    }
  }

  private static void election(Client client) throws Exception {
    Election elections = client.getElectionClient();
    ByteSequence name = bytes("election/java");
    long first = get(client.getLeaseClient().grant(10)).getID();
    long second = get(client.getLeaseClient().grant(10)).getID();
    CampaignResponse leader = get(elections.campaign(name, first, bytes("one")));
    CompletableFuture<CampaignResponse> won = elections.campaign(name, second, bytes("two"));
    BlockingQueue<String> observed = new LinkedBlockingQueue<>();
    elections.observe(name, new Election.Listener() {
      @Override
      public void onNext(LeaderResponse answer) {
        observed.add(answer.getKv().getValue().toString(UTF_8));
      }

      @Override
      public void onError(Throwable error) {}

      @Override
      public void onCompleted() {}
    });
    ensure("one".equals(observed.poll(30, TimeUnit.SECONDS)), "another one leads");
    get(elections.proclaim(leader.getLeader(), bytes("uno")));
    ensure("uno".equals(observed.poll(30, TimeUnit.SECONDS)), "the proclamation was not seen");
    get(elections.resign(leader.getLeader()));
    get(won);
    ensure(get(elections.leader(name)).getKv().getValue().equals(bytes("two")), "the second does not lead");
  }

  private static void auth(Client client) throws Exception {
    Auth auth = client.getAuthClient();
    get(auth.userAdd(bytes("root"), bytes("rootpw")));
    get(auth.userGrantRole(bytes("root"), bytes("root")));
    get(auth.roleAdd(bytes("reader")));
    get(auth.roleGrantPermission(bytes("reader"), bytes("auth/"), bytes("auth0"), Permission.Type.READ));
    get(auth.userAdd(bytes("ann"), bytes("annpw")));
    get(auth.userGrantRole(bytes("ann"), bytes("reader")));
    get(auth.authEnable());
    try (Client ann = connect("ann", "annpw"); Client root = connect("root", "rootpw")) {
      get(ann.getKVClient().get(bytes("auth/x")));
      refusedWith(ann.getKVClient().put(bytes("auth/x"), bytes("v")), "permission denied");
      refusedWith(client.getKVClient().get(bytes("auth/x")), "user name is empty");
      get(root.getKVClient().put(bytes("auth/x"), bytes("v")));
      get(root.getAuthClient().authDisable());
    }
  }

  public static void main(String[] arguments) throws Exception {
    Client client = connect(null, null);
    switch (arguments.length == 1 ? arguments[0] : "") {
      case "txn" -> txn(client);
      case "watch" -> watch(client);
      case "lease" -> lease(client);
      case "lock" -> lock(client);
      case "election" -> election(client);
      case "auth" -> auth(client);
      default -> throw new IllegalArgumentException("usage: Main SCENARIO");
    }
    System.exit(0);
  }
}
