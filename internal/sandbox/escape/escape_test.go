//go:build linux

package escape

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// attempts returns all attempts.
func attempts() [][]attempt {
	return [][]attempt{
		reads, ipcs, writes, streams, protects, homeAttempts(), processes, limits, denied(), terminals, calls, networks, exchange, linked, allowedActions,
	}
}

// elsewhere are the cases that another package runs by their ids.
func elsewhere() map[string]string {
	named := map[string]string{}
	for _, id := range []string{"N22", "N25", "N27", "N28", "N32", "N33", "N36", "N37", "N40"} {
		named[id] = "package egress runs it: it is about what the proxy says"
	}
	return named
}

// Every attempt of the corpus fails in the sandbox, and succeeds without it.
func TestCorpusEscapes(t *testing.T) {
	cases := corpus.Load(t, "escapes.json")
	handled := map[string]func(*testing.T, corpus.Case){}
	for id, run := range endToEnd {
		handled[id] = func(t *testing.T, c corpus.Case) { stopped(t, c); run(t) }
	}
	for _, c := range cases {
		if a := find(c.ID); a != nil {
			handled[c.ID] = func(t *testing.T, c corpus.Case) { stopped(t, c); a.runAll(t) }
		}
	}
	corpus.Claim(t, cases, handled, elsewhere())
}

// stopped checks that a case expects what every attempt here must show: its text says how it is stopped.
func stopped(t *testing.T, c corpus.Case) {
	t.Helper()
	var how string
	if c.Decode(t, c.Expect(), &how); how == "" || how == "allowed" || how == "success" {
		t.Fatalf("it is not stopped: %q", how)
	}
}

// The same holds for Holdfast's own attempts, which were written with knowledge of the design.
func TestOwnEscapes(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range corpus.Load(t, "escapes.json") {
		listed[c.ID] = true
	}
	for _, list := range attempts() {
		for i := range list {
			if a := &list[i]; !listed[a.id] && a.what != "" && a.id[0] != 'Y' {
				t.Run(a.id, a.runAll)
			}
		}
	}
}

// Ids are unique.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, list := range attempts() {
		for _, a := range list {
			if seen[a.id] || (a.try == nil) == (a.script == "") {
				t.Errorf("%s occurs twice, or does not have exactly one of a function and a script", a.id)
			}
			seen[a.id] = true
		}
	}
	if len(seen) < 180 {
		t.Errorf("%d attempts", len(seen))
	}
}

// runAll makes an attempt as root and as an ordinary user.
func (a *attempt) runAll(t *testing.T) {
	for _, c := range callers() {
		t.Run(c.name, func(t *testing.T) { a.run(t, c) })
	}
}
