package nsq

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentify(t *testing.T) {
	const nobody = `identify 10.0.0.7 10.0.0.7 "" heartbeat 30000 timeout 60000 buffer 16384/250`
	for _, row := range []struct {
		name string
		body string
		want []string
	}{
		{"every default", `{}`, []string{nobody, "> OK"}},
		{"unknown and old fields are ignored", `{"short_id":"a","long_id":7,"colour":{"r":1}}`, []string{nobody, "> OK"}},
		{"names", `{"client_id":"c1","hostname":"h1","user_agent":"ua/1"}`,
			[]string{`identify c1 h1 "ua/1" heartbeat 30000 timeout 60000 buffer 16384/250`, "> OK"}},
		{"lowest values", `{"heartbeat_interval":1000,"msg_timeout":1000,"output_buffer_size":64,"output_buffer_timeout":25,"sample_rate":0}`,
			[]string{`identify 10.0.0.7 10.0.0.7 "" heartbeat 1000 timeout 1000 buffer 64/25`, "> OK"}},
		{"highest values", `{"heartbeat_interval":60000,"msg_timeout":900000,"output_buffer_size":65536,"output_buffer_timeout":30000,"sample_rate":99}`,
			[]string{`identify 10.0.0.7 10.0.0.7 "" heartbeat 60000 timeout 900000 buffer 65536/30000`, "> OK"}},
		{"off", `{"heartbeat_interval":-1,"output_buffer_size":-1,"output_buffer_timeout":-1}`,
			[]string{`identify 10.0.0.7 10.0.0.7 "" heartbeat -1 timeout 60000 buffer -1/-1`, "> OK"}},
		{"feature negotiation", `{"feature_negotiation":true,"msg_timeout":5000}`,
			[]string{`identify 10.0.0.7 10.0.0.7 "" heartbeat 30000 timeout 5000 buffer 16384/250`,
				`> {"max_rdy_count":10,"version":"pestle-test","max_msg_timeout":900000,"msg_timeout":5000,"tls_v1":false,"deflate":false,"deflate_level":6,"max_deflate_level":6,"snappy":false,"sample_rate":0,"auth_required":false,"output_buffer_size":16384,"output_buffer_timeout":250,"topology_region":"","topology_zone":""}`}},
		{"TLS, compression and sampling are not offered", `{"feature_negotiation":true,"tls_v1":true,"snappy":true,"sample_rate":50}`,
			[]string{nobody,
				`> {"max_rdy_count":10,"version":"pestle-test","max_msg_timeout":900000,"msg_timeout":60000,"tls_v1":false,"deflate":false,"deflate_level":6,"max_deflate_level":6,"snappy":false,"sample_rate":0,"auth_required":false,"output_buffer_size":16384,"output_buffer_timeout":250,"topology_region":"","topology_zone":""}`}},

		{"both compressions", `{"feature_negotiation":true,"deflate":true,"snappy":true}`,
			[]string{"! E_IDENTIFY_FAILED deflate and snappy exclude each other: ask for one", "hang up"}},
		{"the string that go-nsq's own tests compare", `{"heartbeat_interval":100}`,
			[]string{"! E_BAD_BODY IDENTIFY heartbeat interval (100) is invalid", "hang up"}},
		{"heartbeat too long", `{"heartbeat_interval":60001}`,
			[]string{"! E_BAD_BODY IDENTIFY heartbeat interval (60001) is invalid", "hang up"}},
		{"heartbeat too negative", `{"heartbeat_interval":-2}`,
			[]string{"! E_BAD_BODY IDENTIFY heartbeat interval (-2) is invalid", "hang up"}},
		{"buffer too small", `{"output_buffer_size":63}`,
			[]string{"! E_BAD_BODY IDENTIFY output buffer size (63) is invalid", "hang up"}},
		{"buffer too large", `{"output_buffer_size":65537}`,
			[]string{"! E_BAD_BODY IDENTIFY output buffer size (65537) is invalid", "hang up"}},
		{"buffer timeout too short", `{"output_buffer_timeout":24}`,
			[]string{"! E_BAD_BODY IDENTIFY output buffer timeout (24) is invalid", "hang up"}},
		{"buffer timeout too long", `{"output_buffer_timeout":30001}`,
			[]string{"! E_BAD_BODY IDENTIFY output buffer timeout (30001) is invalid", "hang up"}},
		{"lease too short", `{"msg_timeout":999}`,
			[]string{"! E_BAD_BODY IDENTIFY msg timeout (999) is invalid", "hang up"}},
		{"lease too long", `{"msg_timeout":900001}`,
			[]string{"! E_BAD_BODY IDENTIFY msg timeout (900001) is invalid", "hang up"}},
		{"a lease cannot be off", `{"msg_timeout":-1}`,
			[]string{"! E_BAD_BODY IDENTIFY msg timeout (-1) is invalid", "hang up"}},
		{"sample rate too high", `{"sample_rate":100}`,
			[]string{"! E_BAD_BODY IDENTIFY sample rate (100) is invalid", "hang up"}},
		{"sample rate negative", `{"sample_rate":-1}`,
			[]string{"! E_BAD_BODY IDENTIFY sample rate (-1) is invalid", "hang up"}},
		{"no JSON", `hello`,
			[]string{"! E_BAD_BODY IDENTIFY body is not the JSON expected: invalid character 'h' looking for beginning of value", "hang up"}},
		{"a field of another type", `{"heartbeat_interval":"30s"}`,
			[]string{"! E_BAD_BODY IDENTIFY body is not the JSON expected: heartbeat_interval cannot be string", "hang up"}},
		{"a fraction", `{"msg_timeout":1500.5}`,
			[]string{"! E_BAD_BODY IDENTIFY body is not the JSON expected: msg_timeout cannot be number 1500.5", "hang up"}},
		{"no object", `[]`,
			[]string{"! E_BAD_BODY IDENTIFY body is not the JSON expected: the whole cannot be array", "hang up"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			limits := smallLimits()
			limits.MaxBodySize = 1024
			tr := newTranscript(limits)
			tr.feed(Magic + "IDENTIFY\n" + sized(row.body))
			if diff := cmp.Diff(row.want, tr.lines); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.body, diff)
			}
		})
	}
}

func TestIdentifyInItsPlace(t *testing.T) {
	anna := "IDENTIFY\n" + sized(`{"client_id":"anna","hostname":"h1"}`)
	annaSaid := []string{`identify anna h1 "" heartbeat 30000 timeout 60000 buffer 16384/250`, "> OK"}
	for _, row := range []struct {
		name string
		in   string
		want []string
	}{
		{"a second one before SUB is accepted", anna + "IDENTIFY\n" + sized(`{"heartbeat_interval":-1}`),
			append(annaSaid, `identify anna h1 "" heartbeat -1 timeout 60000 buffer 16384/250`, "> OK")},
		{"publishing before it is legal", "PUB t\n" + sized("a") + anna, append([]string{`pub t ["a"] after 0 ms`, "> OK"}, annaSaid...)},
		{"after SUB", sub + anna, append(subbed, "! E_INVALID IDENTIFY is not possible in this state", "hang up")},
		{"without a body", "IDENTIFY\n" + size(0), []string{"! E_BAD_BODY IDENTIFY body size 0 is not in 1..64", "hang up"}},
		{"with a negative size", "IDENTIFY\n" + size(-1), []string{"! E_BAD_BODY IDENTIFY body size -1 is not in 1..64", "hang up"}},
		{"too large", "IDENTIFY\n" + size(65), []string{"! E_BAD_BODY IDENTIFY body size 65 is not in 1..64", "hang up"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tr := newTranscript(smallLimits())
			tr.feed(Magic + row.in)
			if diff := cmp.Diff(row.want, tr.lines); diff != "" {
				t.Errorf("%q (-want +got):\n%s", row.in, diff)
			}
		})
	}
}

// A client that has not said who it is goes by the host it calls from.
func TestClientIsNamedAfterItsAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.7:51234": "10.0.0.7",
		"[::1]:51234":    "::1",
		"@":              "@",
		"":               "",
	} {
		id := NewSession(DefaultLimits(), remote).Identity()
		if id.ClientID != want || id.Hostname != want {
			t.Errorf("from %q: client %q, host %q, want %q", remote, id.ClientID, id.Hostname, want)
		}
	}
}
