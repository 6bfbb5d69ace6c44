//! The connection the shell works over: one node at a time, since the keyspace in use belongs to a connection.

use std::time::Duration;

use client::{Answer, ConnectOptions, Connection, Credentials, Error, RequestOptions, Response, Version};

use crate::args::Args;
use crate::literal::name;

/// A way to the cluster; if a node goes, the next statement finds another.
pub(crate) struct Link {
    contacts: Vec<String>,
    options: ConnectOptions,
    connection: Option<Connection>,
    keyspace: Option<String>,
}

impl Link {
    /// Connects to the first contact that answers.
    ///
    /// *Errors*: of the last contact, if none does; the server's, if the keyspace cannot be used.
    pub(crate) async fn open(args: &Args) -> Result<Self, Error> {
        let credentials = args.user.clone().zip(args.password.clone());
        let options = ConnectOptions {
            version: if args.protocol == 4 { Version::V4 } else { Version::V5 },
            credentials: credentials.map(|(user, password)| Credentials { user, password }),
            request_timeout: Duration::from_secs(args.timeout),
            driver_name: "accordd cql".to_owned(),
            ..ConnectOptions::default()
        };
        let mut link =
            Self { contacts: args.contacts.clone(), options, connection: None, keyspace: args.keyspace.clone() };
        link.live().await?;
        Ok(link)
    }

    /// The keyspace in use.
    pub(crate) fn keyspace(&self) -> Option<&str> {
        self.keyspace.as_deref()
    }

    /// The node in use.
    pub(crate) fn address(&self) -> &str {
        self.connection.as_ref().map_or("", Connection::address)
    }

    /// Runs a statement; one that did not leave goes to another node, one that did is never sent again.
    pub(crate) async fn query(&mut self, text: &str, options: &RequestOptions) -> Result<Response, Error> {
        let mut outcome = self.live().await?.query(text, &[], options).await;
        if matches!(outcome, Err(Error::NotSent { .. })) {
            outcome = self.live().await?.query(text, &[], options).await;
        }
        if let Ok(Response { answer: Answer::SetKeyspace(keyspace), .. }) = &outcome {
            self.keyspace = Some(keyspace.clone());
        }
        outcome
    }

    async fn live(&mut self) -> Result<Connection, Error> {
        if let Some(connection) = self.connection.as_ref().filter(|connection| connection.is_live()) {
            return Ok(connection.clone());
        }
        let mut last = Error::Options { reason: "at least one contact point is needed".to_owned() };
        for contact in &self.contacts {
            match Connection::connect(contact, &self.options).await {
                Ok(connection) => {
                    self.use_keyspace(&connection).await?;
                    self.connection = Some(connection.clone());
                    return Ok(connection);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn use_keyspace(&self, connection: &Connection) -> Result<(), Error> {
        let Some(keyspace) = &self.keyspace else { return Ok(()) };
        connection.query(&format!("USE {}", name(keyspace)), &[], &RequestOptions::default()).await?;
        Ok(())
    }
}
