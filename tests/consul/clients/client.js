// The Node client "consul", unmodified, against the agent at argv[2]. Exits with 0 and says so if all is as expected.
const assert = require('assert');
const Consul = require('consul');

async function until(claim, what) {
  const end = Date.now() + 60000;
  for (;;) {
    const said = await claim();
    if (said) return said;
    assert(Date.now() < end, `no ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// The next data of a watch; a change that is made meanwhile ends it.
function next(watch) {
  return new Promise((resolve, reject) => {
    watch.once('change', (data) => resolve(data));
    watch.once('error', reject);
  });
}

async function services(consul) {
  await consul.agent.service.register({
    name: 'web', id: 'web-1', address: '10.0.0.1', port: 80, tags: ['a'], meta: { k: 'v' },
    check: { ttl: '30s', deregistercriticalserviceafter: '1h' },
  });
  assert.strictEqual((await consul.agent.service.list())['web-1'].Port, 80);
  const watch = consul.watch({ method: consul.health.service, options: { service: 'web', passing: true, wait: '10s' } });
  assert.deepStrictEqual(await next(watch), []);
  const changed = next(watch);
  await consul.agent.check.pass('service:web-1');
  const [entry] = await changed;
  watch.end();
  assert.strictEqual(entry.Service.Address, '10.0.0.1');
  assert.deepStrictEqual(entry.Checks.map((check) => check.CheckID).sort(), ['serfHealth', 'service:web-1']);
  assert.deepStrictEqual((await consul.catalog.service.list()).web, ['a']);
  assert.strictEqual((await consul.catalog.service.nodes('web'))[0].ServiceMeta.k, 'v');
  assert.strictEqual((await consul.health.state('critical')).length, 0);
  await consul.agent.check.fail({ id: 'service:web-1', note: 'broken' });
  await until(async () => (await consul.health.checks('web'))[0].Output === 'broken', 'output');
  await consul.agent.service.maintenance({ id: 'web-1', enable: true, reason: 'repairs' });
  await until(async () => (await consul.health.checks('web')).length === 2, 'maintenance');
  await consul.agent.service.deregister('web-1');
  await until(async () => (await consul.health.service('web')).length === 0, 'end of the service');
}

async function catalog(consul) {
  assert.strictEqual((await consul.agent.self()).Config.NodeName, 'n1');
  assert.strictEqual((await consul.agent.members())[0].Name, 'n1');
  assert.deepStrictEqual(await consul.catalog.datacenters(), ['dc1']);
  await consul.catalog.register({ node: 'far', address: '10.9.0.1', service: { service: 'db', port: 5432 } });
  assert.deepStrictEqual((await consul.catalog.node.list()).map((node) => node.Node).sort(), ['far', 'n1']);
  assert.strictEqual((await consul.catalog.node.services('far')).Services.db.Port, 5432);
  await consul.catalog.deregister({ node: 'far' });
  assert.strictEqual((await consul.catalog.node.list()).length, 1);
  assert.match(await consul.status.leader(), /:8300$/);
  assert((await consul.status.peers()).length > 0);
}

async function keys(consul) {
  assert.strictEqual(await consul.kv.get('none'), undefined);
  assert.strictEqual(await consul.kv.set('a/1', 'one'), true);
  await consul.kv.set({ key: 'a/2', value: Buffer.from([0, 255]), flags: 5 });
  assert.strictEqual((await consul.kv.get('a/1')).Value, 'one');
  const binary = await consul.kv.get({ key: 'a/2', buffer: true });
  assert.deepStrictEqual([binary.Value, binary.Flags], [Buffer.from([0, 255]), 5]);
  assert.deepStrictEqual(await consul.kv.get({ key: 'a/2', raw: true }), Buffer.from([0, 255]));
  assert.deepStrictEqual(await consul.kv.keys('a/'), ['a/1', 'a/2']);
  assert.strictEqual((await consul.kv.get({ key: 'a/', recurse: true })).length, 2);
  // The client makes an undefined value of false.
  assert(!await consul.kv.set({ key: 'a/1', value: 'uno', cas: '1' }));

  const watch = consul.watch({ method: consul.kv.get, options: { key: 'b', wait: '10s' } });
  assert.strictEqual(await next(watch), undefined);
  const changed = next(watch);
  await consul.kv.set('b', 'new');
  assert.strictEqual((await changed).Value, 'new');
  watch.end();

  await consul.kv.delete({ key: 'a/', recurse: true });
  assert.strictEqual(await consul.kv.get('a/1'), undefined);
  const [got] = (await consul.transaction.create([{ KV: { Verb: 'get', Key: 'b' } }])).Results;
  assert.strictEqual(Buffer.from(got.KV.Value, 'base64').toString(), 'new');
}

async function sessions(consul) {
  const { ID: mine } = await consul.session.create({ name: 'mine', ttl: '10s', lockdelay: '0s' });
  const { ID: other } = await consul.session.create();
  assert.strictEqual(await consul.kv.set({ key: 'lock', value: 'me', acquire: mine }), true);
  assert(!await consul.kv.set({ key: 'lock', value: 'you', acquire: other }));
  assert.strictEqual((await consul.session.renew(mine))[0].TTL, '10s');
  assert.strictEqual((await consul.session.list()).length, 2);
  assert.strictEqual((await consul.session.node('n1')).length, 2);
  await consul.session.destroy(mine);
  assert.strictEqual(await consul.session.get(mine), undefined);
  await until(() => consul.kv.set({ key: 'lock', value: 'you', acquire: other }), 'lock');
}

async function main(address) {
  const [host, port] = address.split(':');
  const consul = new Consul({ host, port });
  for (const part of [services, catalog, keys, sessions]) await part(consul);
  console.log('all as expected');
}

main(process.argv[2]).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
