// The Node client, unmodified, against the server at argv[2]. Exits with 0 and says so if all is as
// expected.
const assert = require('assert');
const { Etcd3, EtcdError } = require('etcd3');

async function main(endpoint) {
  const client = new Etcd3({ hosts: endpoint });
  try {
    assert.strictEqual(await client.get('none').string(), null);
    await client.put('a/1').value('one');
    await client.put('a/2').value(Buffer.from([0, 255]));
    assert.strictEqual(await client.get('a/1').string(), 'one');
    assert.deepStrictEqual(await client.get('a/2').buffer(), Buffer.from([0, 255]));
    assert.deepStrictEqual(await client.getAll().prefix('a/').keys(), ['a/1', 'a/2']);
    const sorted = await client.getAll().prefix('a/').sort('Key', 'Descend').limit(1).keys();
    assert.deepStrictEqual(sorted, ['a/2']);
    assert.strictEqual(await client.getAll().prefix('a/').count(), 2);
    assert.strictEqual(await client.getAll().all().count(), 2);

    const taken = await client
      .if('a/1', 'Value', '==', 'one')
      .and('a/2', 'Version', '==', 1)
      .then(client.put('a/1').value('uno'), client.get('a/1'))
      .else(client.get('a/2'))
      .commit();
    assert.strictEqual(taken.succeeded, true);
    assert.strictEqual(taken.responses[1].response_range.kvs[0].value.toString(), 'uno');
    const refused = await client.if('a/1', 'Create', '==', 0).then(client.put('a/1').value('x')).commit();
    assert.strictEqual(refused.succeeded, false);

    const response = await client.get('a/1').exec();
    const revision = Number(response.header.revision);
    await client.put('a/1').value('dos');
    assert.strictEqual(await client.get('a/1').revision(revision).string(), 'uno');
    await client.kv.compact({ revision: revision + 1, physical: true });
    await assert.rejects(client.get('a/1').revision(revision).string(), /required revision has been compacted/);
    await assert.rejects(client.put('').value('x').exec(), (error) => error instanceof EtcdError || /key is not provided/.test(error.message));

    const status = await client.maintenance.status();
    assert.strictEqual(status.version, '3.7.3');
    assert.ok(Number(status.dbSize) > 0);
    assert.ok((await client.maintenance.hash()).hash > 0);
    assert.strictEqual((await client.cluster.memberList({})).members.length, 1);

    const lease = client.lease(30);
    await lease.put('leased').value('x').exec();
    assert.strictEqual(await client.get('leased').string(), 'x');
    await lease.revoke();
    assert.strictEqual(await client.get('leased').string(), null);

    const many = [];
    for (let i = 0; i < 500; ++i) many.push(client.put(`many/${i}`).value(`${i}`));
    await Promise.all(many);
    assert.strictEqual(await client.getAll().prefix('many/').count(), 500);
    assert.strictEqual(Number((await client.delete().prefix('many/')).deleted), 500);
    await client.delete().all();
    assert.strictEqual(await client.getAll().all().count(), 0);
  } finally {
    client.close();
  }
}

main(process.argv[2]).then(
  () => console.log('all is well'),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
