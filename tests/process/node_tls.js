// The Node client, unmodified, against the server at argv[2] under mutual TLS: the files of the authorities, of the
// certificate and of its key follow. Exits with 0 and says so if all is as expected.
const assert = require('assert');
const fs = require('fs');
const { Etcd3 } = require('etcd3');

async function main(endpoint, authorities, certificate, key) {
  const read = (path) => fs.readFileSync(path);
  const credentials = { rootCertificate: read(authorities), certChain: read(certificate), privateKey: read(key) };
  const client = new Etcd3({ hosts: endpoint, credentials });
  await client.put('node').value('1');
  assert.strictEqual(await client.get('node').string(), '1');
  client.close();
  const nobody = new Etcd3({ hosts: endpoint, credentials: { rootCertificate: read(authorities) } });
  await assert.rejects(nobody.get('node').string());
  nobody.close();
}

main(...process.argv.slice(2)).then(
  () => console.log('all is well'),
  (error) => {
    console.error(error);
    process.exit(1);
  });
