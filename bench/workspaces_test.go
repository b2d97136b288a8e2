//go:build linux

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A continued conversation finds its prefix in the cache; another conversation finds the marked part of their
// common prefix.
func TestCounting(t *testing.T) {
	c := &countingServer{counts: map[string]*counted{}, prefixes: map[string]map[[32]byte]bool{}}
	long := strings.Repeat("x", 4000)
	ask := func(way string, messages ...string) usage {
		t.Helper()
		for i, m := range messages {
			role := []string{"user", "assistant"}[i%2]
			mark := ""
			if i == len(messages)-1 {
				mark = `,"cache_control":{"type":"ephemeral"}`
			}
			messages[i] = `{"role":"` + role + `","content":[{"type":"text","text":"` + m + `"` + mark + `}]}`
		}
		var a countedRequest
		text := `{"model":"m","tools":[{"name":"t"}],"system":[{"type":"text","text":"` + long + `","cache_control":{"type":"ephemeral"}}],"messages":[` + strings.Join(messages, ",") + `]}`
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		return c.count(way, &a, len(text))
	}
	if u := ask("a", "one"); u.Read != 0 || u.Input != 0 || u.Wrote < 1000 {
		t.Errorf("the first request: %+v", u)
	}
	if u := ask("a", "one", "two", "three"); u.Read < 1000 || u.Wrote > 40 {
		t.Errorf("the second: %+v", u)
	}
	if u := ask("a", "other "+long); u.Read < 1000 || u.Wrote < 1000 {
		t.Errorf("another conversation: %+v", u)
	}
	if u := ask("b", "one"); u.Read != 0 {
		t.Errorf("another way: %+v", u)
	}
	if n := c.countsOf("a"); n.requests != 3 || n.fresh >= n.all || n.fresh < 2000 {
		t.Errorf("counted %+v", n)
	}
}

func TestGrowth(t *testing.T) {
	if g := growthOf([]int{900, 7, 10, 20, 30}); g != 10 {
		t.Errorf("grows by %d", g)
	}
	b := &bench{}
	ms := func(list ...int) (out []time.Duration) {
		for _, n := range list {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	b.addPaired("x", ms(14, 26, 30), "bare", ms(10, 20, 10), "≤ 1.3 ×")
	if r := b.rows[0]; r.ratio != "1.40 × (1.35 to 2.20)" || r.goal != "≤ 1.3 × MISSED" {
		t.Errorf("%+v", r)
	}
}
