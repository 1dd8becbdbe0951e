//! The same as bench_echo.c, in Rust: answers every call on end point `echo_rust` at once with as many words as it got, the
//! same words if their number is even, inverted if it is odd.
#![no_std]
#![no_main]

use ashlar::endpoint::{Message, Receiver, REGISTER_WORDS};
use ashlar::{Result, Thread};

ashlar::entry!(main);

fn main(thread: Thread) -> Result<()> {
    let echo = Receiver::find("echo_rust")?;
    let mut request = Message::default();
    echo.recv(&mut request)?;
    loop {
        if request.count % 2 != 0 {
            request = inverted(&thread, request);
        }
        echo.reply_recv(&mut request)?;
    }
}

fn inverted(thread: &Thread, request: Message) -> Message {
    let mut answer = request;
    answer.word.iter_mut().for_each(|word| *word = !*word);
    for word in &thread.page()[REGISTER_WORDS..(request.count as usize).max(REGISTER_WORDS)] {
        word.set(!word.get());
    }
    answer
}
