//! Uses a cluster as programs in Rust do, by the crate etcd-client: `clients SCENARIO` exits with 0
//! once the scenario went well. "watch" prints "halfway" when the leader is to be killed.
use etcd_client::*;
use std::env::{args, var};
use std::process::exit;
use std::time::Duration;

const EVENTS: usize = 200;
type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+).into());
        }
    };
}

async fn connect(user: Option<(&str, &str)>) -> Result<Client, Error> {
    let mut options = ConnectOptions::new()
        .with_connect_timeout(Duration::from_secs(30))
        .with_require_leader(true);
    if let Some((name, password)) = user {
        options = options.with_user(name, password);
    }
    if let Ok(ca) = var("CACERT") {
        let pem = |name: &str| std::fs::read(var(name).unwrap()).unwrap();
        options = options.with_tls(
            TlsOptions::new()
                .ca_certificate(Certificate::from_pem(std::fs::read(ca)?))
                .identity(Identity::from_pem(pem("CERT"), pem("KEY"))),
        );
    }
    let endpoints: Vec<String> = var("ENDPOINTS").unwrap().split(',').map(String::from).collect();
    Client::connect(endpoints, Some(options)).await
}

fn refused_with(outcome: std::result::Result<(), Error>, text: &str) -> Outcome {
    match outcome {
        Err(Error::GRpcStatus(status)) if status.message() == text => Ok(()),
        other => Err(format!("expected {text:?}, and it is {other:?}").into()),
    }
}

async fn txn(mut client: Client) -> Outcome {
    let create = || {
        Txn::new()
            .when([Compare::create_revision("txn/a", CompareOp::Equal, 0)])
            .and_then([TxnOp::put("txn/a", "1", None)])
            .or_else([TxnOp::get("txn/a", None)])
    };
    ensure!(client.txn(create()).await?.succeeded(), "the key was there already");
    let second = client.txn(create()).await?;
    ensure!(!second.succeeded(), "it was created twice");
    match &second.op_responses()[0] {
        TxnOpResponse::Get(got) => ensure!(got.kvs()[0].value() == b"1", "it has {got:?}"),
        other => ensure!(false, "the answer is {other:?}"),
    }
    let future = GetOptions::new().with_revision(1 << 40);
    refused_with(
        client.get("txn/a", Some(future)).await.map(|_| ()),
        "etcdserver: mvcc: required revision is a future revision",
    )
}

async fn watch(mut client: Client) -> Outcome {
    let mut writer = client.clone();
    let begin = client.get("watched", None).await?.header().unwrap().revision();
    tokio::spawn(async move {
        for i in 0..EVENTS {
            if i == EVENTS / 2 {
                println!("halfway");
            }
            let key = format!("watched/{i:03}");
            loop {
                let put = writer.put(key.clone(), "v", None);
                if let Ok(Ok(_)) = tokio::time::timeout(Duration::from_secs(2), put).await {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    });
    let (mut newest, mut last) = (String::new(), begin);
    // A stream ends with its member: again from where it was, at another one.
    'streams: loop {
        let options = WatchOptions::new().with_prefix().with_start_revision(last + 1);
        let mut stream = match client.watch("watched/", Some(options)).await {
            Ok(stream) => stream,
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        while let Ok(Some(answer)) = stream.message().await {
            if answer.canceled() {
                continue 'streams;
            }
            for event in answer.events() {
                let kv = event.kv().unwrap();
                let key = kv.key_str()?.to_string();
                ensure!(kv.mod_revision() > last && key >= newest, "{key} came after {newest}");
                (newest, last) = (key, kv.mod_revision());
            }
            if newest == format!("watched/{:03}", EVENTS - 1) {
                break 'streams;
            }
        }
    }
    // The member that is dead is still among this library's endpoints: it tries each in turn.
    loop {
        let count = GetOptions::new().with_prefix().with_count_only();
        if let Ok(answer) = client.get("watched/", Some(count)).await {
            ensure!(answer.count() == EVENTS as i64, "{} keys", answer.count());
            return Ok(());
        }
    }
}

async fn lease(mut client: Client) -> Outcome {
    let id = client.lease_grant(3, None).await?.id();
    client.put("leased", "v", Some(PutOptions::new().with_lease(id))).await?;
    let (mut keeper, mut answers) = client.lease_keep_alive(id).await?;
    for _ in 0..3 {
        keeper.keep_alive().await?;
        let answer = answers.message().await?.ok_or("the keep-alive ended")?;
        ensure!(answer.ttl() == 3, "it has {} s", answer.ttl());
    }
    let mut gone = client.watch("leased", None).await?;
    loop {
        let answer = gone.message().await?.ok_or("the watch ended")?;
        if answer.events().iter().any(|event| event.event_type() == EventType::Delete) {
            break;
        }
    }
    let left = client.lease_time_to_live(id, None).await?.ttl();
    ensure!(left == -1, "a lease that ended has {left} s");
    let revoked = client.lease_revoke(id).await.map(|_| ());
    refused_with(revoked, "etcdserver: requested lease not found")
}

async fn lock(client: Client) -> Outcome {
    let inside = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let (mut client, inside) = (client.clone(), inside.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..5 {
                let lease = client.lease_grant(10, None).await?.id();
                let options = LockOptions::new().with_lease(lease);
                let key = client.lock("locks/rust", Some(options)).await?.key().to_vec();
                let others = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                if others != 0 {
                    return Err(Error::InvalidArgs("two hold the lock".into()));
                }
                inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                client.unlock(key).await?;
            }
            Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn election(mut client: Client) -> Outcome {
    let first = client.lease_grant(10, None).await?.id();
    let second = client.lease_grant(10, None).await?.id();
    let leader = client.campaign("election/rust", "one", first).await?.take_leader().unwrap();
    let mut waiting = client.clone();
    let won = tokio::spawn(async move { waiting.campaign("election/rust", "two", second).await });
    let mut observed = client.observe("election/rust").await?;
    let seen = observed.message().await?.unwrap();
    ensure!(seen.kv().unwrap().value() == b"one", "the leader is {seen:?}");
    let place = ProclaimOptions::new().with_leader(leader.clone());
    client.proclaim("uno", Some(place)).await?;
    let seen = observed.message().await?.unwrap();
    ensure!(seen.kv().unwrap().value() == b"uno", "the leader proclaims {seen:?}");
    client.resign(Some(ResignOptions::new().with_leader(leader))).await?;
    won.await??;
    let then = client.leader("election/rust").await?;
    ensure!(then.kv().unwrap().value() == b"two", "the leader is then {then:?}");
    Ok(())
}

async fn auth(mut nobody: Client) -> Outcome {
    nobody.user_add("root", "rootpw", None).await?;
    nobody.user_grant_role("root", "root").await?;
    nobody.role_add("reader").await?;
    nobody.role_grant_permission("reader", Permission::read("auth/").with_prefix()).await?;
    nobody.user_add("ann", "annpw", None).await?;
    nobody.user_grant_role("ann", "reader").await?;
    nobody.auth_enable().await?;
    let mut ann = connect(Some(("ann", "annpw"))).await?;
    ann.get("auth/x", None).await?;
    refused_with(ann.put("auth/x", "v", None).await.map(|_| ()), "etcdserver: permission denied")?;
    refused_with(nobody.get("auth/x", None).await.map(|_| ()), "etcdserver: user name is empty")?;
    let mut root = connect(Some(("root", "rootpw"))).await?;
    root.put("auth/x", "v", None).await?;
    root.auth_disable().await?;
    Ok(())
}

async fn run(scenario: &str) -> Outcome {
    let client = connect(None).await?;
    match scenario {
        "txn" => txn(client).await,
        "watch" => watch(client).await,
        "lease" => lease(client).await,
        "lock" => lock(client).await,
        "election" => election(client).await,
        "auth" => auth(client).await,
        _ => Err("usage: clients SCENARIO".into()),
    }
}

#[tokio::main]
async fn main() {
    let scenario = args().nth(1).unwrap_or_default();
    let outcome = tokio::time::timeout(Duration::from_secs(120), run(&scenario)).await;
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            eprintln!("{error}");
            exit(1);
        }
        Err(_) => {
            eprintln!("it did not end");
            exit(1);
        }
    }
}
