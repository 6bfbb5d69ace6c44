//! The fake server's own codec, written from the protocol's text and sharing nothing with the client's.

use std::collections::HashMap;

/// A request as the server understood it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) version: u8,
    pub(crate) is_execute: bool,
    pub(crate) text: String,
    pub(crate) values: Vec<Option<Vec<u8>>>,
    pub(crate) payload: Vec<(String, Vec<u8>)>,
}

/// What the server answers.
pub(crate) struct Reply {
    pub(crate) body: Body,
    pub(crate) payload: Vec<(String, Vec<u8>)>,
    pub(crate) warnings: Vec<String>,
    /// Kept back until the next answer that is not held has left.
    pub(crate) held: bool,
}

pub(crate) enum Body {
    Void,
    /// Column names with protocol type numbers, and rows of cells.
    Rows(Vec<(String, u16)>, Vec<Vec<Option<Vec<u8>>>>),
    SetKeyspace(String),
    SchemaChange(Vec<String>),
    /// Code, text, bytes after the text.
    Error(i32, String, Vec<u8>),
    /// No answer at all.
    Silence,
    /// The connection ends.
    Close,
}

impl Reply {
    pub(crate) fn new(body: Body) -> Self {
        Self { body, payload: vec![], warnings: vec![], held: false }
    }

    pub(crate) fn void() -> Self {
        Self::new(Body::Void)
    }

    pub(crate) fn error(code: i32, text: &str) -> Self {
        Self::new(Body::Error(code, text.to_owned(), vec![]))
    }

    pub(crate) fn unprepared(id: &[u8]) -> Self {
        Self::new(Body::Error(0x2500, "unknown id".to_owned(), short(id)))
    }

    pub(crate) fn rows(columns: &[(&str, u16)], rows: Vec<Vec<Option<Vec<u8>>>>) -> Self {
        Self::new(Body::Rows(columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect(), rows))
    }

    pub(crate) fn with_payload(mut self, key: &str, value: &str) -> Self {
        self.payload.push((key.to_owned(), value.as_bytes().to_vec()));
        self
    }
}

fn short(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_be_bytes(), bytes].concat()
}

pub(crate) fn string(text: &str) -> Vec<u8> {
    short(text.as_bytes())
}

fn int(number: i32) -> [u8; 4] {
    number.to_be_bytes()
}

pub(crate) fn long_string(body: &[u8]) -> String {
    let length = u32::from_be_bytes(body[..4].try_into().unwrap()) as usize;
    String::from_utf8(body[4..4 + length].to_vec()).unwrap()
}

pub(crate) fn envelope(version: u8, flags: u8, stream: [u8; 2], opcode: u8, body: &[u8]) -> Vec<u8> {
    let head = [0x80 | version, flags, stream[0], stream[1], opcode];
    [&head[..], &(body.len() as u32).to_be_bytes(), body].concat()
}

pub(crate) fn supported(version: u8, stream: [u8; 2]) -> Vec<u8> {
    let body = [vec![0, 1], string("CQL_VERSION"), vec![0, 1], string("3.4.8")].concat();
    envelope(version, 0, stream, 0x06, &body)
}

pub(crate) fn prepared(version: u8, stream: [u8; 2], id: &[u8], marker_count: usize) -> Vec<u8> {
    let mut body = [&int(4)[..], &short(id)].concat();
    if version == 5 {
        body.extend(short(b"meta"));
    }
    body.extend([int(1), int(marker_count as i32), int(0)].concat());
    body.extend([string("ks"), string("t")].concat());
    for marker in 0..marker_count {
        body.extend([string(&format!("m{marker}")), vec![0, 2]].concat());
    }
    // Result columns are left out here; they come with the rows.
    body.extend([int(4), int(0)].concat());
    envelope(version, 0, stream, 0x08, &body)
}

pub(crate) fn encode(version: u8, stream: [u8; 2], reply: &Reply) -> Vec<u8> {
    let (mut flags, mut body) = (0, vec![]);
    if !reply.warnings.is_empty() {
        flags |= 0x08;
        body.extend((reply.warnings.len() as u16).to_be_bytes());
        reply.warnings.iter().for_each(|warning| body.extend(string(warning)));
    }
    if !reply.payload.is_empty() {
        flags |= 0x04;
        body.extend((reply.payload.len() as u16).to_be_bytes());
        for (key, value) in &reply.payload {
            body.extend(string(key));
            body.extend([&int(value.len() as i32)[..], value].concat());
        }
    }
    let opcode = if matches!(reply.body, Body::Error(..)) { 0x00 } else { 0x08 };
    body.extend(encode_body(version, &reply.body));
    envelope(version, flags, stream, opcode, &body)
}

fn encode_body(version: u8, body: &Body) -> Vec<u8> {
    match body {
        Body::Void | Body::Silence | Body::Close => int(1).to_vec(),
        Body::Rows(columns, rows) => encode_rows(version, columns, rows),
        Body::SetKeyspace(keyspace) => [&int(3)[..], &string(keyspace)].concat(),
        Body::SchemaChange(words) => [int(5).to_vec(), words.iter().flat_map(|word| string(word)).collect()].concat(),
        Body::Error(code, text, extra) => [&int(*code)[..], &string(text), extra].concat(),
    }
}

/// Full metadata; in v5 marked as changed, since PREPARE gave none.
fn encode_rows(version: u8, columns: &[(String, u16)], rows: &[Vec<Option<Vec<u8>>>]) -> Vec<u8> {
    let flags = if version == 5 { 0x01 | 0x08 } else { 0x01 };
    let mut out = [int(2), int(flags), int(columns.len() as i32)].concat();
    if version == 5 {
        out.extend(short(b"new meta"));
    }
    out.extend([string("ks"), string("t")].concat());
    for (name, kind) in columns {
        out.extend([string(name), kind.to_be_bytes().to_vec()].concat());
    }
    out.extend(int(rows.len() as i32));
    for cell in rows.iter().flatten() {
        match cell {
            Some(bytes) => out.extend([&int(bytes.len() as i32)[..], bytes].concat()),
            None => out.extend(int(-1)),
        }
    }
    out
}

/// Reads a QUERY or EXECUTE envelope; the error is the unknown statement id.
pub(crate) fn ask(raw: &[u8], statements: &HashMap<Vec<u8>, String>) -> Result<Ask, Vec<u8>> {
    let (version, flags, is_execute) = (raw[0], raw[1], raw[4] == 0x0a);
    assert!(is_execute || raw[4] == 0x07, "opcode {:02x}", raw[4]);
    let mut take = Take(&raw[9..]);
    let mut payload = vec![];
    if flags & 0x04 != 0 {
        for _ in 0..take.short() {
            let key_length = take.short();
            let key = String::from_utf8(take.some(key_length).to_vec()).unwrap();
            payload.push((key, take.value().unwrap()));
        }
    }
    let text = if is_execute {
        let id_length = take.short();
        let id = take.some(id_length).to_vec();
        let text = statements.get(&id).cloned().ok_or(id)?;
        if version == 5 {
            let meta_length = take.short();
            assert!([&b"meta"[..], b"new meta"].contains(&take.some(meta_length)));
        }
        text
    } else {
        String::from_utf8(take.value().unwrap()).unwrap()
    };
    let values = parameters(&mut take, version);
    assert!(take.0.is_empty(), "bytes left after the parameters");
    Ok(Ask { version, is_execute, text, values, payload })
}

fn parameters(take: &mut Take<'_>, version: u8) -> Vec<Option<Vec<u8>>> {
    let _consistency = take.short();
    let flags = if version == 5 { take.long() } else { i32::from(take.some(1)[0]) };
    assert_eq!(flags & !0x03, 0, "only values and skip-metadata are expected");
    let count = if flags & 1 != 0 { take.short() } else { 0 };
    (0..count).map(|_| take.value()).collect()
}

struct Take<'a>(&'a [u8]);

impl<'a> Take<'a> {
    fn some(&mut self, count: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(count);
        self.0 = rest;
        head
    }

    fn short(&mut self) -> usize {
        usize::from(u16::from_be_bytes(self.some(2).try_into().unwrap()))
    }

    fn long(&mut self) -> i32 {
        i32::from_be_bytes(self.some(4).try_into().unwrap())
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let length = self.long();
        (length >= 0).then(|| self.some(length as usize).to_vec())
    }
}

pub(crate) fn take_envelope(buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u32::from_be_bytes(buffer.get(5..9)?.try_into().unwrap()) as usize;
    (buffer.len() >= 9 + length).then(|| buffer.drain(..9 + length).collect())
}

pub(crate) fn take_segment(buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let head: [u8; 3] = buffer.get(..3)?.try_into().unwrap();
    let length = u32::from_le_bytes([head[0], head[1], head[2] & 1, 0]) as usize;
    if buffer.len() < length + 10 {
        return None;
    }
    let raw: Vec<u8> = buffer.drain(..length + 10).collect();
    assert_eq!(raw[3..6], crc24(&head), "header checksum");
    assert_eq!(raw[6 + length..], crc32(&raw[6..6 + length]), "payload checksum");
    Some(raw[6..6 + length].to_vec())
}

pub(crate) fn segments(envelope: &[u8]) -> Vec<u8> {
    let whole = envelope.len() <= 131_071;
    let mut out = vec![];
    for part in envelope.chunks(131_071) {
        let length = (part.len() as u32).to_le_bytes();
        let head = [length[0], length[1], length[2] | if whole { 2 } else { 0 }];
        out.extend([&head[..], &crc24(&head), part, &crc32(part)].concat());
    }
    out
}

/// Bit by bit, as polynomial division.
fn crc24(bytes: &[u8]) -> [u8; 3] {
    let mut register: u32 = 0x87_5060;
    for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)) {
        let top = register >> 23 & 1;
        register = register << 1 & 0xff_ffff;
        if top ^ u32::from(bit) == 1 {
            register ^= 0x97_4f0b;
        }
    }
    let bytes = register.to_le_bytes();
    [bytes[0], bytes[1], bytes[2]]
}

fn crc32(bytes: &[u8]) -> [u8; 4] {
    crc32fast::hash(&[&[0xfa, 0x2d, 0x55, 0xca], bytes].concat()).to_le_bytes()
}
