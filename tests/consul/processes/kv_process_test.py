#!/usr/bin/env python3
"""KV, transactions and sessions of agents as processes over one store: locks that several clients want, sessions that end,
queries that wait."""

import base64
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402
from consul_fixture import wait_until  # noqa: E402


def value_of(pair):
    return base64.b64decode(pair["Value"] or "").decode()


class KvProcessTest(consul_fixture.ConsulCase):
    def session(self, **wanted):
        return self.agent.put("/v1/session/create", {"LockDelay": "0s", **wanted})["ID"]

    def pair(self, key, agent=None):
        return (agent or self.agent).get(f"/v1/kv/{key}")[0]

    def in_background(self, *calls):
        """Threads that run the calls; their results in order, once all have ended."""
        results = [None] * len(calls)

        def run(at, call):
            results[at] = call()
        threads = [threading.Thread(target=run, args=(at, call)) for at, call in enumerate(calls)]
        for thread in threads:
            thread.start()

        def wait():
            for thread in threads:
                thread.join(60)
                self.assertFalse(thread.is_alive())
            return results
        return wait

    def test_what_one_agent_writes_all_agents_read(self):
        other = self.start("n2")
        for i in range(20):
            self.assertIs(self.agent.put("/v1/kv/a?flags=7", str(i).encode()), True)
            pair = self.pair("a", other)
            self.assertEqual((value_of(pair), pair["Flags"]), (str(i), 7))
        status, headers, body = other.call("GET", "/v1/kv/none")
        self.assertEqual((status, body), (404, b""))
        self.assertGreater(int(headers["X-Consul-Index"]), 0)
        self.assertEqual(headers["X-Consul-KnownLeader"], "true")

    def test_a_counter_by_cas_at_two_agents_loses_nothing(self):
        agents = [self.agent, self.start("n2")]
        self.agent.put("/v1/kv/n", b"0")

        def count(agent):
            done = 0
            while done < 25:
                pair = self.pair("n", agent)
                done += agent.put(f"/v1/kv/n?cas={pair['ModifyIndex']}", str(int(value_of(pair)) + 1).encode())
        self.in_background(*(lambda agent=agent: count(agent) for agent in agents * 2))()
        self.assertEqual(value_of(self.pair("n")), "100")

    def test_a_lock_that_many_want_has_one_holder_at_a_time(self):
        agents = [self.agent, self.start("n2")]
        inside = []
        most_inside = []

        def contend(agent):
            session = agent.put("/v1/session/create", {"TTL": "30s", "LockDelay": "0s"})["ID"]
            for _ in range(5):
                index = 0
                while not agent.put(f"/v1/kv/lock?acquire={session}", session.encode()):
                    _, headers, _ = agent.call("GET", f"/v1/kv/lock?wait=1s&index={index}")
                    index = headers["X-Consul-Index"]
                inside.append(session)
                time.sleep(0.01)
                most_inside.append(len(inside))
                inside.remove(session)
                assert agent.put(f"/v1/kv/lock?release={session}", b"")
            return session
        sessions = self.in_background(*(lambda agent=agent: contend(agent) for agent in agents * 3))()
        self.assertEqual(len(set(sessions)), 6)
        self.assertEqual(most_inside, [1] * 30)
        pair = self.pair("lock")
        self.assertEqual(pair["LockIndex"], 30)
        self.assertNotIn("Session", pair)

    def test_a_session_that_is_not_renewed_ends_and_its_lock_delay_follows(self):
        session = self.agent.put("/v1/session/create", {"TTL": "10s", "LockDelay": "2s"})["ID"]
        other = self.session()
        self.assertIs(self.agent.put(f"/v1/kv/a?acquire={session}", b"x"), True)
        index = self.pair("a")["ModifyIndex"]
        begun = time.monotonic()
        wait = self.in_background(lambda: self.agent.call("GET", f"/v1/kv/a?wait=25s&index={index}"))
        status, _, _ = self.agent.call("PUT", f"/v1/session/renew/{session}", b"")
        self.assertEqual(status, 200)
        _, _, body = wait()[0]
        self.assertNotIn(b"Session", body)
        # Not before its time, and twice the time at the latest, with what the store and the janitor take.
        self.assertGreater(time.monotonic() - begun, 10)
        self.assertLess(time.monotonic() - begun, 26)
        self.assertIs(self.agent.put(f"/v1/kv/a?acquire={other}", b"y"), False)
        wait_until(lambda: self.agent.put(f"/v1/kv/a?acquire={other}", b"y"), "end of the lock-delay")
        self.assertEqual(self.agent.call("PUT", f"/v1/session/renew/{session}", b"")[0], 404)

    def test_the_locks_of_a_dead_agent_are_released_by_another(self):
        other = self.start("n2")
        session = other.put("/v1/session/create", {"LockDelay": "0s"})["ID"]
        keeps = other.put("/v1/session/create", {"LockDelay": "0s", "NodeChecks": []})["ID"]
        self.assertIs(other.put(f"/v1/kv/a?acquire={session}", b"x"), True)
        self.assertIs(other.put(f"/v1/kv/b?acquire={keeps}", b"x"), True)
        other.kill()
        mine = self.session()
        wait_until(lambda: self.agent.put(f"/v1/kv/a?acquire={mine}", b"y"), "release of a dead agent's lock")
        self.assertEqual(self.pair("b")["Session"], keeps)
        self.assertEqual(self.agent.get(f"/v1/session/info/{session}"), [])

    def test_keys_that_go_with_their_session(self):
        session = self.session(Behavior="delete")
        for i in range(100):
            self.agent.put(f"/v1/kv/p/{i}?acquire={session}", b"x")
        self.agent.put("/v1/kv/stays", b"x")
        self.assertIs(self.agent.put(f"/v1/session/destroy/{session}", b""), True)
        self.assertEqual(self.agent.get("/v1/kv/?keys"), ["stays"])

    def test_a_hundred_queries_wait_and_a_change_wakes_its_own(self):
        for i in range(100):
            self.agent.put(f"/v1/kv/k/{i}", b"x")
        index = self.pair("k/99")["ModifyIndex"]
        answered = []

        def wait_for(i):
            status, headers, _ = self.agent.call("GET", f"/v1/kv/k/{i}?wait=4s&index={index}")
            answered.append((i, int(headers["X-Consul-Index"]) > index))
            return status
        wait = self.in_background(*(lambda i=i: wait_for(i) for i in range(100)))
        time.sleep(1)
        self.assertEqual(answered, [])
        self.agent.put("/v1/kv/k/42", b"y")
        wait_until(lambda: answered, "wake of one query")
        self.assertEqual(answered, [(42, True)])
        self.assertEqual(set(wait()), {200})
        self.assertEqual([i for i, has_moved in answered if has_moved], [42])

    def test_a_deletion_moves_the_index_of_its_prefix(self):
        self.agent.put("/v1/kv/p/a", b"x")
        _, headers, _ = self.agent.call("GET", "/v1/kv/p/?recurse")
        index = int(headers["X-Consul-Index"])
        wait = self.in_background(lambda: self.agent.call("GET", f"/v1/kv/p/?recurse&wait=20s&index={index}"))
        self.agent.put("/v1/kv/q", b"x")
        self.assertEqual(self.agent.call("DELETE", "/v1/kv/p/a")[2], b"true")
        status, headers, _ = wait()[0]
        self.assertEqual(status, 404)
        self.assertGreater(int(headers["X-Consul-Index"]), index)

    def test_a_transaction_happens_or_not_whoever_else_writes(self):
        agents = [self.agent, self.start("n2")]
        for name in "ab":
            self.agent.put(f"/v1/kv/{name}", b"50")

        def move(agent, one, other):
            """Moves one from account to account, 20 times."""
            done = 0
            while done < 20:
                pairs = {pair["Key"]: pair for pair in agent.get("/v1/kv/?recurse")}
                steps = [(one, -1), (other, 1)]
                body = [{"KV": {"Verb": "cas", "Key": key, "Index": pairs[key]["ModifyIndex"],
                                "Value": base64.b64encode(str(int(value_of(pairs[key])) + by).encode()).decode()}}
                        for key, by in steps]
                status, _, said = agent.call("PUT", "/v1/txn", body)
                assert status in (200, 409), said
                done += status == 200
        self.in_background(*(lambda agent=agent, way=way: move(agent, *way) for agent in agents for way in ("ab", "ba")))()
        self.assertEqual([value_of(pair) for pair in self.agent.get("/v1/kv/?recurse")], ["50", "50"])


if __name__ == "__main__":
    consul_fixture.main()
