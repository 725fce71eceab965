// Package sockets lists the pod's TCP connections with its peers and ends them,
// as an administrator can with `ss --kill`: the local process gets
// ECONNABORTED, the peer an RST, unless a rule holds that back.
//
//	connections, err := sockets.With(network.Covers)
//	…
//	torn, err := sockets.Destroy(connections)
package sockets
