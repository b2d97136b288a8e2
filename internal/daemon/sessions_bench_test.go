package daemon

import (
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// BenchmarkListSessions lists the sessions of a store in which most sessions, and the newest, are
// those of sub-agents. It reports the number of queries of the store.
func BenchmarkListSessions(b *testing.B) {
	const plain, subs = 60, 1500
	counted := &countingStore{}
	w := newHTTPEnv(b, func(o *Options) {
		counted.Store = o.Sessions.Store()
		o.Sessions = session.New(counted, nil)
	})
	for i := range plain + subs {
		o := session.Opened{SessionID: fmt.Sprintf("s%04d", i), Title: "a session"}
		if i >= plain {
			o.Owner, o.Title = "s0000", "a sub-agent's"
		}
		l, err := w.sessions.Create(b.Context(), o)
		must(b, err)
		must(b, l.Close())
	}
	for name, query := range map[string]string{"all": "", "found": "?q=a+session", "not_found": "?q=nothing"} {
		b.Run(name, func(b *testing.B) {
			before := counted.lists.Load()
			for b.Loop() {
				if a := w.do("GET", "/v1/sessions"+query, ""); a.status != 200 {
					b.Fatal(a)
				}
			}
			b.ReportMetric(float64(counted.lists.Load()-before)/float64(b.N), "lists/op")
		})
	}
}
