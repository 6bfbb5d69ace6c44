//! OPTIONS, STARTUP and, if the server asks, a password: what happens before a connection carries requests.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::connection::ConnectOptions;
use crate::error::Error;
use crate::frame::{Envelope, Version, opcode};
use crate::inbox::Inbox;
use crate::request;
use crate::response;
use crate::segment;
use crate::wire::Reader;

/// A socket in the middle of its handshake.
#[derive(Debug)]
pub(crate) struct Handshake<'a> {
    address: &'a str,
    socket: TcpStream,
    inbox: Inbox,
    options: &'a ConnectOptions,
}

impl<'a> Handshake<'a> {
    pub(crate) fn new(address: &'a str, socket: TcpStream, options: &'a ConnectOptions) -> Self {
        Self { address, socket, inbox: Inbox::new(options.body_max), options }
    }

    /// Runs the handshake to its end and returns the socket with whatever was read beyond it.
    ///
    /// *Errors*: [`Error::Auth`] if a login is needed or refused, [`Error::Handshake`] for anything out of order.
    pub(crate) async fn run(mut self) -> Result<(TcpStream, Inbox), Error> {
        let version = self.options.version;
        self.send(&request::options(version)?).await?;
        let supported = self.receive().await?;
        let cql_version = self.cql_version(&supported)?;
        self.send(&request::startup(version, cql_version.as_deref(), &self.options.driver_name)?).await?;
        let first = self.receive().await?;
        if version == Version::V5 {
            self.inbox.expect_segments();
        }
        match first.opcode {
            opcode::READY => Ok((self.socket, self.inbox)),
            opcode::AUTHENTICATE => self.log_in(&first).await,
            _ => Err(self.unexpected("READY or AUTHENTICATE", first.opcode)),
        }
    }

    async fn log_in(mut self, challenge: &Envelope) -> Result<(TcpStream, Inbox), Error> {
        let mechanism = Reader::new(&challenge.body).string("authenticator")?;
        let Some(login) = &self.options.credentials else {
            let reason = format!("the server asks for a login ({mechanism}); give a user and a password");
            return Err(Error::Auth { address: self.address.to_owned(), reason });
        };
        let version = self.options.version;
        let envelope = request::auth_response(version, &login.user, &login.password)?;
        match version {
            Version::V4 => self.send(&envelope).await?,
            Version::V5 => {
                let mut segments = Vec::new();
                segment::pack(&envelope, &mut segments);
                self.send(&segments).await?;
            }
        }
        match self.receive().await?.opcode {
            opcode::AUTH_SUCCESS => Ok((self.socket, self.inbox)),
            got => Err(self.unexpected("AUTH_SUCCESS", got)),
        }
    }

    /// The CQL version the server offers, so that STARTUP asks for one it has.
    fn cql_version(&self, supported: &Envelope) -> Result<Option<String>, Error> {
        if supported.opcode != opcode::SUPPORTED {
            return Err(self.unexpected("SUPPORTED", supported.opcode));
        }
        let mut reader = Reader::new(&supported.body);
        for _ in 0..reader.u16("supported options")? {
            let key = reader.string("option")?;
            let values = reader.string_list("option values")?;
            if key == "CQL_VERSION" {
                return Ok(values.into_iter().next());
            }
        }
        Ok(None)
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.socket.write_all(bytes).await;
        written.map_err(|error| self.broken(&format!("write: {error}")))
    }

    /// The next answer; an ERROR becomes the error it carries.
    async fn receive(&mut self) -> Result<Envelope, Error> {
        loop {
            if let Some(envelope) = self.inbox.next().map_err(|error| self.broken(&error.to_string()))? {
                return if envelope.opcode == opcode::ERROR { Err(self.refused(&envelope)) } else { Ok(envelope) };
            }
            match self.socket.read_buf(self.inbox.buffer()).await {
                Ok(0) => return Err(self.broken("the server closed the connection")),
                Ok(_) => {}
                Err(error) => return Err(self.broken(&format!("read: {error}"))),
            }
        }
    }

    fn refused(&self, envelope: &Envelope) -> Error {
        let error = response::server_error(envelope).unwrap_or_else(|malformed| malformed);
        match &error {
            Error::Server(server) if server.code == crate::error::ErrorCode::BadCredentials => {
                Error::Auth { address: self.address.to_owned(), reason: server.message.clone() }
            }
            other => self.broken(&other.to_string()),
        }
    }

    fn unexpected(&self, wanted: &str, got: u8) -> Error {
        self.broken(&format!("answer with opcode 0x{got:02x} where {wanted} was expected"))
    }

    fn broken(&self, reason: &str) -> Error {
        Error::Handshake { address: self.address.to_owned(), reason: reason.to_owned() }
    }
}
