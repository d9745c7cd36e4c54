package clients;

import com.ecwid.consul.v1.ConsulClient;
import com.ecwid.consul.v1.QueryParams;
import com.ecwid.consul.v1.Response;
import com.ecwid.consul.v1.agent.model.NewService;
import com.ecwid.consul.v1.catalog.CatalogServicesRequest;
import com.ecwid.consul.v1.health.HealthServicesRequest;
import com.ecwid.consul.v1.health.model.HealthService;
import com.ecwid.consul.v1.kv.model.GetValue;
import com.ecwid.consul.v1.kv.model.PutParams;
import com.ecwid.consul.v1.session.model.NewSession;
import java.util.List;
import java.util.Map;

/** The Java client consul-api, unmodified, with the calls that Spring Cloud Consul makes. */
public final class Main {
  private static void check(boolean claim, String what) {
    if (!claim) throw new AssertionError(what);
  }

  private static List<HealthService> healthy(ConsulClient consul, long index) {
    QueryParams query = index < 0 ? QueryParams.DEFAULT : new QueryParams(10, index);
    return consul.getHealthServices("web",
        HealthServicesRequest.newBuilder().setPassing(true).setQueryParams(query).build()).getValue();
  }

  private static void services(ConsulClient consul) throws InterruptedException {
    NewService service = new NewService();
    service.setId("web-1");
    service.setName("web");
    service.setAddress("10.0.0.1");
    service.setPort(80);
    service.setTags(List.of("a"));
    service.setMeta(Map.of("k", "v"));
    NewService.Check check = new NewService.Check();
    check.setTtl("30s");
    check.setDeregisterCriticalServiceAfter("1h");
    service.setCheck(check);
    consul.agentServiceRegister(service);
    check(consul.getAgentServices().getValue().get("web-1").getPort() == 80, "the agent's service");
    check(healthy(consul, -1).isEmpty(), "not healthy yet");
    consul.agentCheckPass("service:web-1");
    for (int i = 0; healthy(consul, -1).isEmpty(); ++i) {
      check(i < 600, "healthy");
      Thread.sleep(50);
    }
    HealthService healthy = healthy(consul, -1).get(0);
    check(healthy.getService().getAddress().equals("10.0.0.1") && healthy.getChecks().size() == 2, "its instance");
    Map<String, List<String>> names = consul.getCatalogServices(
        CatalogServicesRequest.newBuilder().setQueryParams(new QueryParams(2, -1)).build()).getValue();
    check(names.get("web").equals(List.of("a")), "the catalog's names");
    consul.agentServiceSetMaintenance("web-1", true, "repairs");
    for (int i = 0; !healthy(consul, -1).isEmpty(); ++i) {
      check(i < 600, "in maintenance");
      Thread.sleep(50);
    }
    consul.agentServiceDeregister("web-1");
    check(consul.getStatusLeader().getValue().endsWith(":8300"), "the leader");
    check(consul.getAgentSelf().getValue().getConfig().getNodeName().equals("n1"), "the node");
  }

  private static void keys(ConsulClient consul) {
    Response<GetValue> none = consul.getKVValue("config/none");
    check(none.getValue() == null && none.getConsulIndex() > 0, "no key, with an index");
    check(consul.setKVValue("config/app/a", "1").getValue(), "a put");
    Response<List<GetValue>> all = consul.getKVValues("config/app/");
    check(all.getValue().get(0).getDecodedValue().equals("1"), "a value");
    check(consul.getKVValues("config/app/", new QueryParams(1, all.getConsulIndex())).getConsulIndex()
        .equals(all.getConsulIndex()), "nothing has changed");
    consul.setKVValue("config/app/b", "2");
    check(consul.getKVValues("config/app/", new QueryParams(10, all.getConsulIndex())).getConsulIndex()
        > all.getConsulIndex(), "the change of another key below it");
    check(consul.getKVKeysOnly("config/").getValue().size() == 2, "keys");
    PutParams absent = new PutParams();
    absent.setCas(0L);
    check(!consul.setKVValue("config/app/a", "x", absent).getValue(), "only if absent");
    consul.deleteKVValues("config/");
  }

  private static void locks(ConsulClient consul) {
    NewSession session = new NewSession();
    session.setName("mine");
    session.setTtl("10s");
    session.setLockDelay(1);
    String mine = consul.sessionCreate(session, QueryParams.DEFAULT).getValue();
    String other = consul.sessionCreate(new NewSession(), QueryParams.DEFAULT).getValue();
    PutParams acquire = new PutParams();
    acquire.setAcquireSession(mine);
    check(consul.setKVValue("lock", "me", acquire).getValue(), "a lock");
    acquire.setAcquireSession(other);
    check(!consul.setKVValue("lock", "you", acquire).getValue(), "it is held");
    check(consul.getKVValue("lock").getValue().getSession().equals(mine), "its holder");
    consul.renewSession(mine, QueryParams.DEFAULT);
    consul.sessionDestroy(mine, QueryParams.DEFAULT);
    check(consul.getSessionList(QueryParams.DEFAULT).getValue().size() == 1, "the other session");
  }

  public static void main(String[] arguments) throws InterruptedException {
    ConsulClient consul = new ConsulClient(arguments[0], Integer.parseInt(arguments[1]));
    services(consul);
    keys(consul);
    locks(consul);
    System.out.println("all as expected");
  }
}
