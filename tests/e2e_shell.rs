//! `accordd cql` against a cluster: the real binary, its outputs and its exit codes.

mod cluster;

use accordd::config::Config;
use cluster::{TempDir, three_nodes};
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The shell with these nodes.
struct Shell {
    contacts: Vec<String>,
    scratch: TempDir,
}

impl Shell {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_accordd"));
        command.arg("cql").stdin(Stdio::null()).env_remove("ACCORDD_PASSWORD");
        for contact in &self.contacts {
            command.args(["--contact", contact]);
        }
        command.args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("starts")
    }

    fn execute(&self, text: &str) -> Output {
        self.run(&["--no-footer", "--execute", text])
    }

    /// What a good run of these statements prints.
    fn printed(&self, text: &str) -> String {
        let output = self.execute(text);
        assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""), "{text}");
        out(&output)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.scratch.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    }

    fn piped(&self, text: &str) -> Output {
        let mut command = self.command(&["--keyspace", "bank"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let mut pipe = child.stdin.take().expect("piped");
        // a shell that stopped at an error reads no more
        let _ = pipe.write_all(text.as_bytes());
        drop(pipe);
        child.wait_with_output().expect("ends")
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SCHEMA: &str = "
-- the bank; it has ; in a comment
CREATE KEYSPACE bank WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3};
USE bank
CREATE TABLE accounts (owner text, kind text, balance bigint, note text, PRIMARY KEY (owner, kind))
  WITH CLUSTERING ORDER BY (kind DESC) AND transactional_mode = 'full';
";

const PAYMENT: &str = "
BEGIN TRANSACTION
  LET a = (SELECT balance FROM bank.accounts WHERE owner = 'Ann' AND kind = 'main;');
  SELECT a.balance;
  IF a.balance >= 10 THEN
    UPDATE bank.accounts SET balance -= 10 WHERE owner = 'Ann' AND kind = 'main;';
  END IF
COMMIT TRANSACTION
SELECT owner, balance FROM bank.accounts WHERE owner = 'Ann';
";

#[tokio::test]
async fn e2e_shell_runs_texts_files_and_pipes() {
    let dir = TempDir::new("shell");
    let cluster = three_nodes(&dir, Config::default()).await;
    let shell = Shell { contacts: cluster.contacts(), scratch: TempDir::new("shell-scripts") };
    let checks = tokio::task::spawn_blocking(move || {
        a_file_makes_the_schema(&shell);
        formats_show_the_same_rows(&shell);
        a_transaction_tells_its_path(&shell);
        an_error_stops_a_script_and_shows_its_place(&shell);
        a_pipe_runs_commands_of_the_shell(&shell);
        wrong_words_and_dead_nodes_end_the_shell(&shell);
    });
    checks.await.expect("all checks hold");
    assert!(cluster.stop().expect("stopped"), "everything ended in time");
}

fn a_file_makes_the_schema(shell: &Shell) {
    let file = shell.file("schema.cql", SCHEMA);
    let output = shell.run(&["--file", &file]);
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
    let printed = out(&output);
    for line in ["created keyspace bank  ", "using keyspace bank  ", "created table bank.accounts  "] {
        assert!(printed.contains(line), "{printed}");
    }
    let described = shell.printed("DESC TABLE bank.accounts");
    let wanted = "CREATE TABLE bank.accounts (\n    owner text,\n    kind text,\n    balance bigint,\n    note text,\n    \
        PRIMARY KEY (owner, kind)\n) WITH CLUSTERING ORDER BY (kind DESC)\n    AND transactional_mode = 'full';\n";
    assert_eq!(described, wanted);
    assert_eq!(shell.printed("USE bank; DESCRIBE TABLES"), "bank.accounts\n");
    let described = shell.printed("DESC KEYSPACE bank");
    assert!(described.starts_with("CREATE KEYSPACE bank WITH replication = {"), "{described}");
    assert!(described.ends_with(wanted), "{described}");
}

fn formats_show_the_same_rows(shell: &Shell) {
    shell.printed(
        "INSERT INTO bank.accounts (owner, kind, balance, note) VALUES ('Ann', 'main;', 100, 'it''s, \n銀');
         INSERT INTO bank.accounts (owner, kind) VALUES ('Ann', $$a\"b$$)",
    );
    let text = "SELECT * FROM bank.accounts WHERE owner = 'Ann'";
    let table = " owner | kind  | balance | note\n text  | text  |  bigint | text\n\
        -------+-------+---------+------------\n Ann   | main; |     100 | it's, \\n銀\n \
        Ann   | a\"b   |    null | null\n";
    assert_eq!(shell.printed(text), table);
    let json = shell.run(&["--format", "json", "-e", text]);
    let wanted = "{\"owner\":\"Ann\",\"kind\":\"main;\",\"balance\":100,\"note\":\"it's, \\n銀\"}\n\
        {\"owner\":\"Ann\",\"kind\":\"a\\\"b\",\"balance\":null,\"note\":null}\n";
    assert_eq!((out(&json).as_str(), err(&json).as_str()), (wanted, ""));
    let csv = shell.run(&["--format", "csv", "-e", text]);
    let wanted = "owner,kind,balance,note\nAnn,main;,100,\"it's, \n銀\"\nAnn,\"a\"\"b\",,\n";
    assert_eq!((out(&csv).as_str(), err(&csv).as_str()), (wanted, ""));
    let text = "SELECT flags, caching FROM system_schema.tables WHERE keyspace_name = 'bank'";
    let json = shell.run(&["--format", "json", "-e", text]);
    assert_eq!(
        out(&json),
        "{\"flags\":[\"compound\"],\"caching\":{\"keys\":\"ALL\",\"rows_per_partition\":\"NONE\"}}\n"
    );
    let table = shell.printed(text);
    assert!(table.ends_with(" {'compound'} | {'keys': 'ALL', 'rows_per_partition': 'NONE'}\n"), "{table}");
}

fn a_transaction_tells_its_path(shell: &Shell) {
    let output = shell.run(&["--execute", PAYMENT]);
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
    let printed = out(&output);
    assert!(printed.starts_with(" a.balance\n    bigint\n-----------\n       100\n(1 row)  "), "{printed}");
    let footer = printed.lines().nth(4).expect("a footer");
    assert!(["fast", "medium", "slow"].iter().any(|path| footer.contains(&format!("  {path} path, "))), "{footer}");
    assert!(printed.contains(" Ann   |      90\n"), "{printed}");
}

fn an_error_stops_a_script_and_shows_its_place(shell: &Shell) {
    let text = "SELECT owner FROM bank.accounts WHERE owner = 'nobody';\n  SELECT owner\n  FRM bank.accounts;\nHELP";
    let file = shell.file("wrong.cql", text);
    let output = shell.run(&["-f", &file]);
    let error = err(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with(&format!("SyntaxError (0x2000): {file}:3:3: ")), "{error}");
    assert!(error.ends_with("\n 3 |   FRM bank.accounts\n   |   ^\n"), "{error}");
    assert!(!out(&output).contains("HELP"), "stops at the error");
    let output = shell.run(&["-f", &file, "--continue"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("HELP"), "goes on");
    let output = shell.execute("SELECT * FROM bank.nothing;");
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).starts_with("Invalid (0x2200): "), "{}", err(&output));
    let output = shell.execute("BEGIN TRANSACTION SELECT 1;");
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("transaction or batch that began in line 1 is not closed"), "{}", err(&output));
}

fn a_pipe_runs_commands_of_the_shell(shell: &Shell) {
    let file = shell.file("more.cql", "SELECT kind FROM accounts WHERE owner = 'Ann' AND kind = 'main;';");
    let text = format!(
        "CONSISTENCY one\nEXPAND ON\nSOURCE '{file}'\nSELECT balance\nFROM accounts WHERE owner = 'nobody';\nEXIT\nno CQL;"
    );
    let output = shell.piped(&text);
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
    let printed = out(&output);
    let starts = "consistency level ONE; transactional tables do not need it\nexpanded rows on\n@ row 1\n------+------\n \
        kind | main;\n(1 row)  ";
    assert!(printed.starts_with(starts), "{printed}");
    assert!(printed.contains("\n(0 rows)  "), "{printed}");
    let itself = shell.file("itself.cql", "");
    std::fs::write(&itself, format!("SOURCE '{itself}'")).expect("written");
    let output = shell.run(&["-f", &itself]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("8 files deep"), "{}", err(&output));
}

fn wrong_words_and_dead_nodes_end_the_shell(shell: &Shell) {
    for arguments in [&["--format", "xml"][..], &["--user", "ann"], &["-e", "x", "-f", "y"], &["-f", "/nonexistent"]] {
        assert_eq!(shell.run(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let mut unused = shell.command(&["-e", "HELP"]);
    let output = unused.env("ACCORDD_PASSWORD", "nobody's").output().expect("starts");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let output = shell.run(&["--keyspace", "nothing", "-e", "SELECT * FROM t;"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("Invalid (0x2200)"), "{}", err(&output));
    let nobody = Shell { contacts: vec!["127.0.0.1:1".to_owned()], scratch: TempDir::new("shell-nobody") };
    let output = nobody.execute("SELECT 1");
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).starts_with("accordd: cql: 127.0.0.1:1: cannot connect: "), "{}", err(&output));
}
