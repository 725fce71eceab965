// Package core is the broker without its surroundings: one deterministic
// state machine per node.
package core
