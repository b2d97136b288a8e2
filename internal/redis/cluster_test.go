package redis

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// The slots are those of the Redis cluster specification and of redis-cli.
func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"123456789": 0x31C3 % slots, "foo": 12182, "{foo}bar": 12182, "a{foo}{bar}": 12182, "bar": 5061, "{}foo": Slot("{}foo"), "": 0,
	} {
		if got := Slot(key); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
	if Slot("{user1000}.following") != Slot("{user1000}.followers") || Slot("foo{}{bar}") == Slot("bar") || Slot("foo{{bar}}zap") != Slot("{bar") {
		t.Error("hash tags")
	}
}

func node(addr string) any {
	host, text, _ := net.SplitHostPort(addr)
	port, _ := strconv.Atoi(text)
	return []any{host, int64(port), "id"}
}

// slotsReply is the answer to CLUSTER SLOTS where the first server has all of them.
func slotsReply(addrs ...string) string {
	entry := []any{int64(0), int64(slots - 1)}
	for _, a := range addrs {
		entry = append(entry, node(a))
	}
	return encode([]any{entry})
}

func inCluster(o *Options) { o.Key = "{k}" }

func TestClusterFollows(t *testing.T) {
	var state atomic.Value
	state.Store("")
	b := serve(t, okExcept(map[string]string{"GET": "+b\r\n"}))
	var a *fakeServer
	a = serve(t, func(command []string) string {
		switch how := state.Load().(string); {
		case command[0] == "CLUSTER":
			return slotsReply(a.addr, b.addr)
		case command[0] == "GET" && how == "once":
			state.Store("")
			return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
		case command[0] == "GET" && how != "":
			return "-" + how + "\r\n"
		}
		return "+a\r\n"
	})
	c := a.client(t, inCluster)
	get := func(want string) {
		t.Helper()
		if got, err := c.Do(t.Context(), "GET", "{k}"); got != want || err != nil {
			t.Fatalf("%v %v, want %s", got, err, want)
		}
	}
	get("a")
	state.Store("once")
	get("a")
	state.Store("ASK 1 " + b.addr)
	get("b")
	if heard := b.received(); !slices.Equal(heard, []string{"HELLO 2", "ASKING", "GET {k}"}) {
		t.Errorf("%q", heard)
	}
	state.Store("")
	get("a") // an ASK is for once
	_, port, _ := net.SplitHostPort(b.addr)
	state.Store("MOVED 1 :" + port) // at the same host
	get("b")
	state.Store("")
	before := len(a.received())
	get("b")
	if got := a.received()[before:]; len(got) != 0 {
		t.Errorf("the old owner is asked %q", got)
	}
}

// Servers that send in a circle are followed for a while only.
func TestClusterRedirectsAreBounded(t *testing.T) {
	var a *fakeServer
	a = serve(t, func(command []string) string {
		switch command[0] {
		case "CLUSTER":
			return slotsReply(a.addr)
		case "GET":
			return "-MOVED 1 " + a.addr + "\r\n"
		}
		return "+OK\r\n"
	})
	_, err := a.client(t, inCluster).Do(t.Context(), "GET", "{k}")
	if !HasCode(err, "MOVED") || strings.Count(strings.Join(a.received(), ","), "GET") != redirects+1 {
		t.Errorf("%v %q", err, a.received())
	}
}

// If the owner is lost, other servers are asked for the new one; the command is not sent
// again.
func TestClusterFailover(t *testing.T) {
	var dead atomic.Bool
	var a, b *fakeServer
	b = serve(t, func(command []string) string {
		if command[0] == "CLUSTER" {
			return slotsReply(b.addr, a.addr)
		}
		return "+b\r\n"
	})
	a = serve(t, func(command []string) string {
		switch {
		case dead.Load():
			return ""
		case command[0] == "CLUSTER":
			return slotsReply(a.addr, b.addr)
		}
		return "+a\r\n"
	})
	c := a.client(t, inCluster)
	if got, err := c.Do(t.Context(), "SET", "{k}", 1); got != "a" || err != nil {
		t.Fatal(got, err)
	}
	dead.Store(true)
	if got, err := c.Do(t.Context(), "SET", "{k}", 2); err == nil {
		t.Errorf("%v after the connection was lost", got)
	}
	if got, err := c.Do(t.Context(), "SET", "{k}", 3); got != "b" || err != nil {
		t.Error(got, err)
	}
	if slices.Contains(b.received(), "SET {k} 2") {
		t.Errorf("sent again: %q", b.received())
	}
}

// The former owner is asked last, because it may take long to detect that it is gone.
func TestOrderOfTheServers(t *testing.T) {
	c := New(Options{Addr: "seed:1", Key: "k"})
	for range 20 {
		c.setOwner("a:1", []string{"a:1", "b:1", "seed:1"})
		c.forgetOwner("b:1") // is not the owner
		c.forgetOwner("a:1")
		if got := c.candidates(); len(got) != 3 || got[2] != "a:1" || c.owner != "" {
			t.Fatal(got)
		}
	}
	c.setOwner("a:1", []string{"a:1", "b:1"})
	if got := c.candidates(); len(got) != 3 || got[2] != "a:1" || got[1] != "seed:1" {
		t.Error(got)
	}
}

// A client that may not ask for the slots follows redirections only.
func TestClusterWithoutSlots(t *testing.T) {
	b := serve(t, okExcept(map[string]string{"GET": "+b\r\n", "CLUSTER": "-NOPERM no\r\n"}))
	a := serve(t, okExcept(map[string]string{"GET": "-MOVED 1 " + b.addr + "\r\n", "CLUSTER": "-NOPERM no\r\n"}))
	if got, err := a.client(t, inCluster).Do(t.Context(), "GET", "{k}"); got != "b" || err != nil {
		t.Error(got, err)
	}
}

func TestClusterInvalidSlots(t *testing.T) {
	for _, answer := range []string{
		"+OK\r\n", "*1\r\n:1\r\n", "*0\r\n", encode([]any{[]any{int64(0), int64(1), "x"}}),
		encode([]any{[]any{"0", int64(1), node("h:1")}}), encode([]any{[]any{int64(0), int64(16383), []any{"h", int64(70000)}}}),
		encode([]any{[]any{int64(0), int64(1), node("h:1")}}),
	} {
		a := serve(t, okExcept(map[string]string{"CLUSTER": answer}))
		if got, err := a.client(t, inCluster).Do(t.Context(), "GET", "{k}"); err == nil {
			t.Errorf("%q: %v", answer, got)
		}
	}
}

func TestClusterAddresses(t *testing.T) {
	for _, tt := range []struct {
		node any
		from string
		want string
	}{
		{[]any{"10.0.0.1", int64(7000)}, "h:1", "10.0.0.1:7000"},
		{[]any{"", int64(7000)}, "h:1", "h:7000"},
		{[]any{nil, int64(7000)}, "h:1", "h:7000"},
		{[]any{"?", int64(7000)}, "h:1", "h:7000"},
		{[]any{"127.0.0.1", int64(7000)}, "h:1", "h:7000"},
		{[]any{"127.0.0.1", int64(7000)}, "127.0.0.2:1", "127.0.0.1:7000"},
		{[]any{"10.0.0.1", int64(0)}, "h:1", "10.0.0.1:1"},
		{[]any{"::1", int64(7)}, "[::1]:1", "[::1]:7"},
		{[]any{"10.0.0.1", int64(7)}, "/run/s", "10.0.0.1:7"},
	} {
		if got, ok := nodeAddr(tt.node, tt.from); !ok || got != tt.want {
			t.Errorf("%v from %s: %q", tt.node, tt.from, got)
		}
	}
	for text, want := range map[Error]string{
		"MOVED 3999 127.0.0.1:6381": "127.0.0.1:6381", "ASK 1 ::1:7": "[::1]:7", "MOVED 1 [::1]:7": "[::1]:7", "MOVED 1 :7": "h:7",
		"MOVED 1 h": "", "MOVED 1 h:0": "", "MOVED": "", "OTHER 1 h:1": "",
	} {
		if _, _, got := redirect(text, "h:1"); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
