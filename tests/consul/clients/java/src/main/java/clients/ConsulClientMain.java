package clients;

import com.orbitz.consul.Consul;
import com.orbitz.consul.HealthClient;
import com.orbitz.consul.KeyValueClient;
import com.orbitz.consul.NotRegisteredException;
import com.orbitz.consul.SessionClient;
import com.orbitz.consul.cache.KVCache;
import com.orbitz.consul.cache.ServiceHealthCache;
import com.orbitz.consul.model.ConsulResponse;
import com.orbitz.consul.model.agent.ImmutableRegistration;
import com.orbitz.consul.model.agent.Registration;
import com.orbitz.consul.model.health.ServiceHealth;
import com.orbitz.consul.model.kv.Value;
import com.orbitz.consul.model.session.ImmutableSession;
import com.orbitz.consul.option.QueryOptions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** The Java client consul-client, unmodified: services, keys, locks, and its caches, which are blocking queries. */
public final class ConsulClientMain {
  private static void check(boolean claim, String what) {
    if (!claim) throw new AssertionError(what);
  }

  private static void waitUntil(BooleanSupplier claim, String what) throws InterruptedException {
    for (int i = 0; !claim.getAsBoolean(); ++i) {
      check(i < 600, what);
      Thread.sleep(50);
    }
  }

  private static void services(Consul consul) throws InterruptedException, NotRegisteredException {
    HealthClient health = consul.healthClient();
    ServiceHealthCache cache = ServiceHealthCache.newCache(health, "web");
    cache.start();
    consul.agentClient().register(ImmutableRegistration.builder().id("web-1").name("web").address("10.0.0.1").port(80)
        .addTags("a").putMeta("k", "v").check(Registration.RegCheck.ttl(30L)).build());
    check(consul.agentClient().isRegistered("web-1"), "the agent's service");
    check(health.getHealthyServiceInstances("web").getResponse().isEmpty(), "not healthy yet");
    consul.agentClient().pass("web-1", "fine");
    waitUntil(() -> !health.getHealthyServiceInstances("web").getResponse().isEmpty(), "healthy");
    ConsulResponse<List<ServiceHealth>> answer = health.getAllServiceInstances("web");
    ServiceHealth instance = answer.getResponse().get(0);
    check(answer.getIndex().signum() > 0 && answer.isKnownLeader(), "its index, and a leader");
    check(instance.getService().getAddress().equals("10.0.0.1") && instance.getService().getPort() == 80
        && instance.getService().getTags().equals(List.of("a"))
        && instance.getService().getMeta().equals(Map.of("k", "v")) && instance.getChecks().size() == 2, "its instance");
    check(instance.getChecks().stream().anyMatch(each -> each.getOutput().equals(Optional.of("fine"))), "the note");
    waitUntil(() -> cache.getMap().size() == 1, "the cache to know it");
    check(consul.catalogClient().getServices().getResponse().get("web").equals(List.of("a")), "the catalog's names");
    check(consul.catalogClient().getNodes().getResponse().get(0).getNode().equals("n1"), "the catalog's nodes");
    consul.agentClient().toggleMaintenanceMode("web-1", true, "repairs");
    waitUntil(() -> health.getHealthyServiceInstances("web").getResponse().isEmpty(), "in maintenance");
    consul.agentClient().deregister("web-1");
    waitUntil(() -> cache.getMap().isEmpty(), "the cache to forget it");
    cache.stop();
    check(consul.statusClient().getLeader().endsWith(":8300"), "the leader");
    check(consul.agentClient().getAgent().getConfig().getNodeName().equals("n1"), "the node");
  }

  private static void keys(Consul consul) throws InterruptedException {
    KeyValueClient keys = consul.keyValueClient();
    check(keys.getValue("config/none").isEmpty(), "no key");
    KVCache cache = KVCache.newCache(keys, "config/", 10);
    cache.start();
    check(keys.putValue("config/a", "1", 7), "a put");
    Value value = keys.getValue("config/a").orElseThrow();
    check(value.getValueAsString().orElseThrow().equals("1") && value.getFlags() == 7, "its value");
    waitUntil(() -> cache.getMap().containsKey("a"), "the cache to know it");
    check(keys.putValue("config/b/c"), "a key without a value");
    check(keys.getKeys("config/").equals(List.of("config/a", "config/b/c")), "keys");
    waitUntil(() -> cache.getMap().size() == 2, "the cache to know both");
    keys.deleteKeys("config/");
    waitUntil(() -> cache.getMap().isEmpty(), "the cache to forget them");
    cache.stop();
    check(keys.getConsulResponseWithValue("config/a", QueryOptions.BLANK).isEmpty(), "no key any more");
  }

  private static void locks(Consul consul) {
    SessionClient sessions = consul.sessionClient();
    KeyValueClient keys = consul.keyValueClient();
    String mine = sessions.createSession(ImmutableSession.builder().name("mine").ttl("10s").lockDelay("1s").build()).getId();
    String other = sessions.createSession(ImmutableSession.builder().name("other").build()).getId();
    check(keys.acquireLock("lock", "me", mine), "a lock");
    check(!keys.acquireLock("lock", "you", other), "it is held");
    check(keys.getSession("lock").orElseThrow().equals(mine), "its holder");
    check(sessions.renewSession(mine).orElseThrow().getId().equals(mine), "renewed");
    check(sessions.getSessionInfo(mine).orElseThrow().getName().orElseThrow().equals("mine"), "its name");
    check(keys.releaseLock("lock", mine), "released");
    check(keys.acquireLock("lock", "you", other), "the other's now");
    sessions.destroySession(mine);
    sessions.destroySession(other);
    check(sessions.listSessions().isEmpty(), "no session any more");
  }

  public static void main(String[] arguments) throws InterruptedException, NotRegisteredException {
    // A cache's query waits for 10 s.
    Consul consul = Consul.builder().withUrl("http://" + arguments[0] + ":" + arguments[1])
        .withReadTimeoutMillis(30_000).build();
    services(consul);
    keys(consul);
    locks(consul);
    consul.destroy();
    System.out.println("all as expected");
    System.exit(0);  // whatever threads its HTTP client has
  }
}
