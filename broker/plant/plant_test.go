package plant

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for i, b := range All() {
		if int(b.ID) != i+1 {
			t.Errorf("%s has number %d and stands at %d", b.Name, b.ID, i+1)
		}
		id, err := Find(b.Name)
		if Built && (id != b.ID || err != nil || !id.Is(b.ID) || id.Is(None)) {
			t.Errorf("%s: got %d, %v", b.Name, id, err)
		}
		if !Built && (err == nil || !strings.Contains(err.Error(), b.Name+" is not in this program") || b.ID.Is(b.ID)) {
			t.Errorf("%s: got %v in a program without planted bugs", b.Name, err)
		}
	}
	if id, err := Find(""); id != None || err != nil {
		t.Errorf("no name: got %d, %v", id, err)
	}
	if _, err := Find("no-such"); err == nil || !strings.Contains(err.Error(), `no planted bug "no-such"; there are ack-before-fsync, fsync-error-ignored`) {
		t.Errorf("an unknown name: got %v", err)
	}
}
