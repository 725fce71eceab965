// Package client connects the workload's machines to the systems under test,
// one file per system, through that system's own client library.
//
// It owns connections, reconnecting, the deadline of each send, and the answer
// to the question what became of a send: confirmed, refused for sure, or
// unknown. It never retries a send, never writes state or history, and never
// confirms a delivery by itself.
//
//	p := client.NewNSQProducer(config, func(e workload.Event) { events <- e })
//	p.Send(id, try, 0, body, stream.Now()+400e6) // reports EvAck, EvFail or EvUnknown
//
// A send has failed for sure when the server refused it before it stored
// anything, or when nothing of it was handed to a connection. Everything else
// that is no confirmation is unknown.
package client
