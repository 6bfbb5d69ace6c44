"""A bank through the DataStax Python driver: HOST PORT PROTOCOL_VERSION. Exits 0 and prints "ok" if all is as it should be."""

import sys

from cassandra import AlreadyExists, InvalidRequest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy, TokenAwarePolicy
from cassandra.protocol import SyntaxException
from cassandra.query import dict_factory

host, port, version = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
profile = ExecutionProfile(load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy()), row_factory=dict_factory)
cluster = Cluster(
    [host], port=port, protocol_version=version, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, connect_timeout=10
)
session = cluster.connect()
assert cluster.metadata.cluster_name == "one", cluster.metadata.cluster_name
assert cluster.metadata.token_map is not None
assert session.cluster.protocol_version == version

session.execute("CREATE KEYSPACE bank WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
session.set_keyspace("bank")
create = (
    "CREATE TABLE accounts (id bigint, kind text, balance bigint, PRIMARY KEY (id, kind))"
    " WITH transactional_mode = 'full'"
)
session.execute(create)
try:
    session.execute(create)
    raise SystemExit("created twice")
except AlreadyExists as error:
    assert (error.keyspace, error.table) == ("bank", "accounts"), error
cluster.refresh_schema_metadata()
table = cluster.metadata.keyspaces["bank"].tables["accounts"]
assert [c.name for c in table.partition_key] == ["id"], table.partition_key
assert [c.name for c in table.clustering_key] == ["kind"], table.clustering_key
assert table.columns["balance"].cql_type == "bigint"
assert not table.is_compact_storage
assert "local" in cluster.metadata.keyspaces["system"].tables

insert = session.prepare("INSERT INTO accounts (id, kind, balance) VALUES (?, ?, ?)")
assert insert.routing_key_indexes == [0], insert.routing_key_indexes
for customer in range(1, 5):
    for kind in ("CHECKING", "SAVINGS"):
        session.execute(insert, (customer, kind, 1000))


def let(name, id):
    return f"LET {name} = (SELECT balance FROM accounts WHERE id={id} AND kind='CHECKING');"


def update(sign, amount, id, kind="CHECKING"):
    return f"UPDATE accounts SET balance {sign}= {amount} WHERE id={id} AND kind='{kind}';"


def txn(*parts):
    return "BEGIN TRANSACTION\n  " + "\n  ".join(parts) + "\nCOMMIT TRANSACTION;"


def balance(a):
    savings = f"LET sav = (SELECT balance FROM accounts WHERE id={a} AND kind='SAVINGS');"
    return txn(let("chk", a), savings, "SELECT chk.balance, sav.balance;")


def transfer(a):
    return txn(update("-", 1, a), update("+", 1, a, "SAVINGS"))


def audit(a1, a2):
    return txn(let("a1", a1), let("a2", a2), "SELECT a1.balance, a2.balance;")


def payment(a1, a2):
    return txn(update("-", 1, a1), update("+", 1, a2))


def payroll(a1, a2, a3, a4):
    return txn(update("-", 3, a1), *(update("+", 1, a) for a in (a2, a3, a4)))


def rows(result):
    return [tuple(row.values()) for row in result]


# With literals.
assert rows(session.execute(balance(1))) == [(1000, 1000)]
assert rows(session.execute(transfer(1))) == []
assert rows(session.execute(payment(1, 2))) == []
assert rows(session.execute(payroll(1, 2, 3, 4))) == []
assert rows(session.execute(audit(1, 2))) == [(995, 1002)]

# With markers.
prepared = {
    "balance": session.prepare(balance("?")),
    "transfer": session.prepare(transfer("?")),
    "audit": session.prepare(audit("?", "?")),
    "payment": session.prepare(payment("?", "?")),
    "payroll": session.prepare(payroll("?", "?", "?", "?")),
}
session.execute(prepared["transfer"], (2, 2))
session.execute(prepared["payment"], (2, 3))
session.execute(prepared["payroll"], (3, 4, 1, 2))
result = session.execute(prepared["balance"], (2, 2))
assert rows(result) == [(1001, 1001)], rows(result)
assert result.column_names == ["chk.balance", "sav.balance"], result.column_names
assert rows(session.execute(prepared["audit"], (3, 4))) == [(999, 1002)]

# The closed economy keeps its total.
total = sum(sum(rows(session.execute(prepared["balance"], (a, a)))[0]) for a in range(1, 5))
assert total == 8000, total

# Many in flight.
futures = [session.execute_async(prepared["payment"], (1 + i % 4, 1 + (i + 1) % 4)) for i in range(500)]
for future in futures:
    future.result()
total = sum(sum(rows(session.execute(prepared["balance"], (a, a)))[0]) for a in range(1, 5))
assert total == 8000, total

# Trace by custom payload, both ways.
future = session.execute_async(payment(1, 2), custom_payload={"accord.trace": b"1"})
future.result()
assert future.custom_payload["accord.path"] == b"fast", future.custom_payload
assert future.custom_payload["accord.txn_id"].startswith(b"["), future.custom_payload
future = session.execute_async(payment(1, 2))
future.result()
assert future.custom_payload is None

# An increment of nothing is told in a warning.
future = session.execute_async(payment(1, 99))
future.result()
assert future.warnings and "accounts" in future.warnings[0], future.warnings

# Nulls, plain reads, named values.
session.execute(insert, (9, "CHECKING", None))
assert rows(session.execute("SELECT balance FROM accounts WHERE id = 9 AND kind = 'CHECKING'")) == [(None,)]
assert len(rows(session.execute("SELECT * FROM accounts WHERE id = %s", (1,)))) == 2

for text, error in [
    ("SELEC", SyntaxException),
    ("SELECT * FROM nowhere WHERE id = 1", InvalidRequest),
    ("SELECT * FROM system.nothing", InvalidRequest),
]:
    try:
        session.execute(text)
        raise SystemExit(f"accepted: {text}")
    except error:
        pass

# A large value crosses segments.
session.execute("CREATE TABLE texts (k int PRIMARY KEY, v text) WITH transactional_mode = 'full'")
put = session.prepare("INSERT INTO texts (k, v) VALUES (?, ?)")
get = session.prepare("SELECT v FROM texts WHERE k = ?")
for size in (0, 131_000, 131_071, 131_072, 400_000):
    session.execute(put, (size, "x" * size))
    assert rows(session.execute(get, (size,))) == [("x" * size,)], size

session.execute("DROP TABLE texts")
cluster.refresh_schema_metadata()
assert "texts" not in cluster.metadata.keyspaces["bank"].tables
session.execute("DROP KEYSPACE bank")
cluster.shutdown()
print("ok")
