package control

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pestle/faults"
)

// TestClientSends: what goes over the wire, as another carrier of it sees it.
func TestClientSends(t *testing.T) {
	ctx := context.Background()
	var asked, body string
	answer := "{}"
	c := NewClientOver(func(_ context.Context, method, path string, request []byte) (int, []byte, error) {
		asked, body = method+" "+path, string(request)
		return 200, []byte(answer), nil
	})
	for _, test := range []struct {
		call                func() error
		asked, body, answer string
	}{
		{func() error { return c.Impose(ctx, faults.Fault{Ref: 3, Kind: faults.DiskSlow, Factor: 5}, 9) }, "POST /impose",
			`{"fault":{"ref":3,"kind":"disk-slow","target":"","anchor":{"at":0},"for":0,"factor":5},"seed":9}`, "{}"},
		{func() error { _, err := c.Status(ctx); return err }, "GET /status", "", "{}"},
		{func() error {
			n, err := c.Lift(ctx, 3)
			return errors.Join(err, expect(n == 12))
		}, "POST /lift", `{"ref":3}`, `{"bites":12}`},
		{func() error {
			loss, err := c.PowerLoss(ctx, 1)
			return errors.Join(err, expect(loss == Loss{Kept: 1, Torn: 2, Dropped: 3, Garbage: 4}))
		}, "POST /power-loss", `{"seed":1}`, `{"kept":1,"torn":2,"dropped":3,"garbage":4}`},
	} {
		answer = test.answer
		if err := test.call(); err != nil || asked != test.asked || body != test.body {
			t.Errorf("%s %s, %v; want %s %s", asked, body, err, test.asked, test.body)
		}
	}
}

func expect(ok bool) error {
	if !ok {
		return errors.New("the answer is read wrongly")
	}
	return nil
}

// TestClientFails: each failure says what was asked and why.
func TestClientFails(t *testing.T) {
	for _, test := range []struct {
		status int
		answer string
		err    error
		why    string
	}{
		{409, `{"error":"the power is lost"}`, nil, "POST /lift: status 409: the power is lost"},
		{502, `<html>`, nil, "POST /lift: status 502: <html>"},
		{200, `<html>`, nil, "not understood"},
		{0, ``, errors.New("no route"), "POST /lift: no route"},
	} {
		c := NewClientOver(func(context.Context, string, string, []byte) (int, []byte, error) {
			return test.status, []byte(test.answer), test.err
		})
		if _, err := c.Lift(context.Background(), 1); err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%d %s: %v, want %q", test.status, test.answer, err, test.why)
		}
	}
	if _, err := NewClient("127.0.0.1:1").Status(context.Background()); err == nil || !strings.Contains(err.Error(), "--chaos-address") {
		t.Errorf("nobody listens: %v", err)
	}
}
