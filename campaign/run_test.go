package campaign

import (
	"errors"
	"testing"
)

// What fails together is told together, in one line: reports have one for it.
func TestAHarnessErrorIsOneLine(t *testing.T) {
	err := errors.Join(errors.New("start broker-1: no such image"), errors.New("remove the network: it is in use"))
	if got, want := sentence(err), "start broker-1: no such image; remove the network: it is in use"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
