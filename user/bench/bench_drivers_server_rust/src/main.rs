//! The same as bench_drivers_server.c, in Rust.
#![no_std]
#![no_main]

use ashlar::mailbox::{Domain, Server, Set};
use ashlar::protocols::ethernet::{self, Ethernet, ToDriver};
use ashlar::{Result, Thread};

ashlar::entry!(main);

fn main(_thread: Thread) -> Result<()> {
    let mut domain = Domain::start()?;
    let client: Server<Ethernet> = domain.serve()?;
    let requests = Set::new().with(&client, ethernet::OPEN | ethernet::TRANSMIT | ethernet::GET_STATISTICS);
    let mut statistics = ethernet::Statistics { sent: 0, received: 0, missed: 0, errors: 0, collisions: 0 };
    loop {
        match client.take(&domain.wait(&requests)) {
            Some(ToDriver::Open) => client.emit(ethernet::OpenOk { address: [0; 6], features: 0 })?,
            Some(ToDriver::Transmit(request)) => {
                statistics.sent += 1;
                client.emit(ethernet::TransmitDone { cookie: request.cookie, status: 0 })?;
            }
            Some(ToDriver::GetStatistics) => client.emit(statistics)?,
            _ => {}
        }
    }
}
