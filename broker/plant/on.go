//go:build plant

package plant

// Built tells that this program has the planted bugs.
const Built = true
