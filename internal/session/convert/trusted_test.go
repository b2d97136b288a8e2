package convert_test

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
)

// A log with permissions that would take effect again is imported only with Trusted.
func TestPermissionsInRecords(t *testing.T) {
	draft := func(k session.Kind, payload string) session.Draft {
		return session.Draft{Kind: k, Payload: []byte(payload)}
	}
	mode, ended := draft(record.KindPolicyChanged, `{"mode":"auto"}`), draft(record.KindPolicyChanged, `{"ended":true}`)
	opened, closed := draft(record.KindTurnOpened, `{"turn":"t"}`), draft(record.KindTurnClosed, `{"turn":"t","reason":"completed"}`)
	asked, answered := draft(record.KindApprovalAsked, `{"id":"q"}`), draft(record.KindApprovalResolved, `{"id":"q"}`)
	for name, c := range map[string]struct {
		drafts []session.Draft
		bad    bool
	}{
		"nothing":          {[]session.Draft{opened, closed}, false},
		"a mode":           {[]session.Draft{mode}, true},
		"a mode that was":  {[]session.Draft{mode, ended}, false},
		"a mode again":     {[]session.Draft{mode, ended, mode}, true},
		"an answer":        {[]session.Draft{opened, asked, answered}, true},
		"an answer before": {[]session.Draft{opened, asked, answered, closed}, false},
	} {
		t.Run(name, func(t *testing.T) {
			from := newSessions()
			l, err := from.Create(t.Context(), session.Opened{SessionID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Append(t.Context(), c.drafts...); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			src := write(t, "s.jsonl", string(export(t, from, "s", convert.JSONL)))
			to := newSessions()
			_, err = convert.Import(t.Context(), to, src, nil)
			if errors.Is(err, session.ErrInvalid) != c.bad || !c.bad && err != nil {
				t.Errorf("%v", err)
			}
			if c.bad {
				if session.Hint(err) == "" {
					t.Error("no hint")
				}
				if _, err := to.Get(t.Context(), "s"); !errors.Is(err, session.ErrNotFound) {
					t.Errorf("something was written: %v", err)
				}
				importSource(t, to, src, &convert.Options{Trusted: true})
			}
		})
	}
}
