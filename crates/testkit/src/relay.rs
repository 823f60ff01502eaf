//! A proxy that adds the token to requests, because the conformance suite cannot send one.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

/// Listens until the program ends, and returns the address.
pub(crate) fn start(server: SocketAddr, token: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    let shown = format!("Authorization: Bearer {token}\r\nConnection: close\r\n");
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let shown = shown.clone();
            // The suite reports broken connections.
            std::thread::spawn(move || drop(relay(client, server, &shown)));
        }
    });
    address
}

/// Relays one request and its answer. Both sides get `Connection: close`, so only one head needs the token.
fn relay(client: TcpStream, server: SocketAddr, shown: &str) -> io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    let mut from_client = BufReader::new(client.try_clone()?);
    let mut line = String::new();
    from_client.read_line(&mut line)?;
    server.write_all(format!("{line}{shown}").as_bytes())?;
    while line != "\r\n" {
        line.clear();
        if from_client.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if !line.to_ascii_lowercase().starts_with("connection:") {
            server.write_all(line.as_bytes())?;
        }
    }
    let mut to_client = client;
    let mut from_server = server.try_clone()?;
    std::thread::spawn(move || {
        let copied = copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
        copied
    });
    copy(&mut from_client, &mut server)?;
    server.shutdown(Shutdown::Both)
}

/// Copies bytes as they arrive.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut bytes = [0; 16 * 1024];
    loop {
        match from.read(&mut bytes)? {
            0 => return Ok(()),
            read => to.write_all(&bytes[..read])?,
        }
    }
}
