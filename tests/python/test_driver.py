"""Three `accordd serve` processes and the Python driver: `test_driver.py BINARY`.

Nodes listen on 127.0.0.1, .2 and .3 so that the driver can be told which node to ask. Their logs stay behind if a test fails.
"""

import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from cassandra import Unavailable
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.policies import WhiteListRoundRobinPolicy

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
CUSTOMERS = range(1, 9)
START_MAX_S = 60
STOP_MAX_S = 60


def free_port():
    """A port that is free on every host; asked of the system, so that two runs do not meet."""
    while True:
        with socket.socket() as first:
            first.bind((HOSTS[0], 0))
            port = first.getsockname()[1]
            try:
                for host in HOSTS[1:]:
                    with socket.socket() as other:
                        other.bind((host, port))
                return port
            except OSError:
                continue


class Nodes:
    """The processes and their directory."""

    def __init__(self, binary):
        self.binary = binary
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="accordd-python-"))
        self.port = free_port()
        peer_port = free_port()
        text = (ROOT / "config/three-node.toml").read_text()
        for at, host in enumerate(HOSTS):
            text = text.replace(f"127.0.0.1:{7401 + at}", f"{host}:{peer_port}")
            text = text.replace(f"127.0.0.1:{9042 + at}", f"{host}:{self.port}")
        self.config = self.dir / "config/three-node.toml"
        self.config.parent.mkdir()
        self.config.write_text(text)
        subprocess.run([binary, "keygen", "--config", self.config], check=True, stdout=subprocess.DEVNULL)
        self.running = {}
        for node in (1, 2, 3):
            self.start(node)
        self.wait_until_up(3)

    def start(self, node):
        log = open(self.dir / f"node-{node}.log", "ab")
        command = [self.binary, "serve", "--config", self.config, "--node", str(node)]
        self.running[node] = subprocess.Popen(command, stdout=log, stderr=log)
        log.close()

    def wait_until_up(self, count):
        deadline = time.monotonic() + START_MAX_S
        while True:
            status = self.status()
            if status["up"] == count:
                return
            ended = [node for node, process in self.running.items() if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"{status['up']} of {count} nodes up, ended {ended}: {self.logs()}")

    def status(self):
        command = [self.binary, "status", "--config", self.config, "--json"]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)

    def kill(self, node):
        process = self.running.pop(node)
        process.kill()
        process.wait()

    def stop(self):
        """Asks every node to stop; their exit codes."""
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        return {node: process.wait(STOP_MAX_S) for node, process in self.running.items()}

    def logs(self):
        return "\n".join(f"--- {path}\n{path.read_text()[-3000:]}" for path in sorted(self.dir.glob("*.log")))


def connect(nodes, host, version):
    profile = ExecutionProfile(load_balancing_policy=WhiteListRoundRobinPolicy([host]), request_timeout=30)
    cluster = Cluster(
        [host],
        port=nodes.port,
        protocol_version=version,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        connect_timeout=30,
    )
    return cluster, cluster.connect()


def once_linked(session, text):
    """Runs the first statement of a session: a node that is up may still be connecting to the others, and refuses until it has."""
    deadline = time.monotonic() + START_MAX_S
    while True:
        try:
            return session.execute(text)
        except NoHostAvailable as error:
            refused = all(isinstance(reason, Unavailable) for reason in error.errors.values())
            if not error.errors or not refused or time.monotonic() > deadline:
                raise


def let(name, id, kind="CHECKING"):
    return f"LET {name} = (SELECT balance FROM accounts WHERE id={id} AND kind='{kind}');"


def update(id, change, kind="CHECKING"):
    return f"UPDATE accounts SET balance {change} WHERE id={id} AND kind='{kind}';"


def txn(*lines):
    return "BEGIN TRANSACTION\n  " + "\n  ".join(lines) + "\nCOMMIT TRANSACTION;"


def balance(a):
    return txn(let("chk", a), let("sav", a, "SAVINGS"), "SELECT chk.balance, sav.balance;")


def transfer(a):
    return txn(update(a, "-= 1"), update(a, "+= 1", "SAVINGS"))


def audit(a1, a2):
    return txn(let("a1", a1), let("a2", a2), "SELECT a1.balance, a2.balance;")


def payment(a1, a2):
    return txn(update(a1, "-= 1"), update(a2, "+= 1"))


def payroll(a1, a2, a3, a4):
    return txn(update(a1, "-= 3"), *(update(a, "+= 1") for a in (a2, a3, a4)))


class Bank:
    """The texts of the bank against one protocol version, from every node."""

    version = None

    @classmethod
    def setUpClass(cls):
        cls.keyspace = f"bank{cls.version}"
        cls.sessions = []
        for host in HOSTS:
            cluster, session = connect(NODES, host, cls.version)
            cls.addClassCleanup(cluster.shutdown)
            cls.sessions.append(session)
        first = cls.sessions[0]
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 3}"
        once_linked(first, f"CREATE KEYSPACE {cls.keyspace} WITH replication = {replication}")
        for session in cls.sessions:
            session.set_keyspace(cls.keyspace)
        columns = "id bigint, kind text, balance bigint, PRIMARY KEY (id, kind)"
        first.execute(f"CREATE TABLE accounts ({columns}) WITH transactional_mode = 'full'")
        insert = first.prepare("INSERT INTO accounts (id, kind, balance) VALUES (?, ?, 1000)")
        for id in CUSTOMERS:
            for kind in ("CHECKING", "SAVINGS"):
                first.execute(insert, (id, kind))
        for session in cls.sessions:
            once_linked(session, balance(1))

    def both(self, session, id):
        return tuple(session.execute(balance(id)).one())

    def total(self, session):
        return sum(sum(self.both(session, id)) for id in CUSTOMERS)

    def test_driver_speaks_the_version_asked_for(self):
        for session in self.sessions:
            self.assertEqual(session.cluster.protocol_version, self.version)

    def test_literals_from_every_node(self):
        for session in self.sessions:
            before = [self.both(session, id) for id in (1, 2, 3, 4)]
            self.assertEqual(list(session.execute(transfer(1))), [])
            self.assertEqual(list(session.execute(payment(1, 2))), [])
            self.assertEqual(list(session.execute(payroll(1, 2, 3, 4))), [])
            after = [self.both(session, id) for id in (1, 2, 3, 4)]
            steps = [(-5, 1), (2, 0), (1, 0), (1, 0)]
            self.assertEqual(after, [(c + dc, s + ds) for (c, s), (dc, ds) in zip(before, steps)])
            self.assertEqual(tuple(session.execute(audit(1, 2)).one()), (after[0][0], after[1][0]))

    def test_markers_from_every_node(self):
        for session in self.sessions:
            texts = {
                "balance": balance("?"),
                "transfer": transfer("?"),
                "audit": audit("?", "?"),
                "payment": payment("?", "?"),
                "payroll": payroll("?", "?", "?", "?"),
            }
            prepared = {name: session.prepare(text) for name, text in texts.items()}
            before = [tuple(session.execute(prepared["balance"], (id, id)).one()) for id in (5, 6, 7, 8)]
            session.execute(prepared["transfer"], (5, 5))
            session.execute(prepared["payment"], (5, 6))
            session.execute(prepared["payroll"], (5, 6, 7, 8))
            after = [tuple(session.execute(prepared["balance"], (id, id)).one()) for id in (5, 6, 7, 8)]
            steps = [(-5, 1), (2, 0), (1, 0), (1, 0)]
            self.assertEqual(after, [(c + dc, s + ds) for (c, s), (dc, ds) in zip(before, steps)])
            self.assertEqual(tuple(session.execute(prepared["audit"], (5, 6)).one()), (after[0][0], after[1][0]))

    def test_many_at_once_keep_the_total(self):
        prepared = [session.prepare(payment("?", "?")) for session in self.sessions]
        for round in range(12):
            # as many as meet at every key, and few enough for a slow machine to answer in time
            ats = range(round * 24, round * 24 + 24)
            futures = [
                self.sessions[at % 3].execute_async(prepared[at % 3], (1 + at % 8, 1 + (at + 1) % 8)) for at in ats
            ]
            for future in futures:
                future.result()
        for session in self.sessions:
            self.assertEqual(self.total(session), 2000 * len(CUSTOMERS))

    def test_apply_is_another_word_for_commit(self):
        session = self.sessions[1]
        before = self.both(session, 8)
        session.execute(transfer(8).replace("COMMIT", "APPLY"))
        self.assertEqual(self.both(session, 8), (before[0] - 1, before[1] + 1))

    def test_path_comes_as_custom_payload_when_asked_for(self):
        future = self.sessions[2].execute_async(payment(7, 8), custom_payload={"accord.trace": b"1"})
        future.result()
        self.assertIn(future.custom_payload["accord.path"], (b"fast", b"medium", b"slow"))
        self.assertTrue(future.custom_payload["accord.txn_id"])
        future = self.sessions[2].execute_async(payment(8, 7))
        future.result()
        self.assertIsNone(future.custom_payload)


class Version4(Bank, unittest.TestCase):
    version = 4


class Version5(Bank, unittest.TestCase):
    version = 5


class Failures(unittest.TestCase):
    """Runs last: one node dies without warning, the others go on, it comes back and knows everything."""

    def test_killed_node_is_missed_by_nobody_and_returns(self):
        cluster, session = connect(NODES, HOSTS[0], 5)
        self.addCleanup(cluster.shutdown)
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 3}"
        session.execute(f"CREATE KEYSPACE crash WITH replication = {replication}")
        session.execute("CREATE TABLE crash.t (k int PRIMARY KEY, v int) WITH transactional_mode = 'full'")
        session.execute("INSERT INTO crash.t (k, v) VALUES (1, 1)")
        NODES.kill(3)
        status = NODES.status()
        self.assertEqual((status["up"], status["down"]), (2, 1))
        for v in range(2, 6):
            session.execute(f"INSERT INTO crash.t (k, v) VALUES ({v}, {v})")
        NODES.start(3)
        NODES.wait_until_up(3)
        again, third = connect(NODES, HOSTS[2], 5)
        self.addCleanup(again.shutdown)
        once_linked(third, "SELECT v FROM crash.t WHERE k = 1")
        for v in range(1, 6):
            self.assertEqual(third.execute(f"SELECT v FROM crash.t WHERE k = {v}").one().v, v)


def load_tests(loader, _tests, _pattern):
    cases = (Version4, Version5, Failures)
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in cases)


def main():
    global NODES
    NODES = Nodes(sys.argv[1])
    result = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    codes = NODES.stop()
    if any(codes.values()):
        print(f"a node did not stop with exit code 0: {codes}", file=sys.stderr)
    if any(codes.values()) or not result.wasSuccessful():
        print(NODES.logs(), file=sys.stderr)
        sys.exit(1)
    shutil.rmtree(NODES.dir)


if __name__ == "__main__":
    main()
