package policy

import "testing"

// A child is never allowed more than its parent: for every pair of modes, every kind of call, and
// with allow and ask rules.
func TestChildIsNeverWeaker(t *testing.T) {
	calls := map[actionKind]Request{
		kindRead:        {Tool: "T", Operation: OpRead, Resource: "/w/a", ReadOnly: true},
		kindReadOutside: {Tool: "T", Operation: OpRead, Resource: "/x/a", ReadOnly: true},
		kindSecret:      {Tool: "T", Operation: OpRead, Resource: "/w/.env", ReadOnly: true},
		kindEdit:        {Tool: "T", Operation: OpWrite, Resource: "/w/a"},
		kindEditOutside: {Tool: "T", Operation: OpWrite, Resource: "/x/a"},
		kindSafe:        {Tool: "T", Operation: OpCommand, Resource: "ls", Cwd: "/w"},
		kindCommand:     {Tool: "T", Operation: OpCommand, Resource: "make", Cwd: "/w"},
		kindUnclear:     {Tool: "T", Operation: OpCommand, Resource: "$x", Cwd: "/w"},
		kindDangerous:   {Tool: "T", Operation: OpCommand, Resource: "rm -rf /", Cwd: "/w"},
		kindFetch:       {Tool: "T", Operation: OpConnect, Resource: "a.org", ReadOnly: true},
		kindNetwork:     {Tool: "T", Operation: OpConnect, Resource: "a.org"},
		kindMCP:         {Tool: "T", Operation: OpMCP, Resource: "s/t"},
		kindOther:       {Tool: "T"},
	}
	for _, rules := range [][]string{{}, {"allow T"}, {"ask T"}, {"ask T", "allow T"}} {
		for _, parent := range Modes() {
			for _, child := range Modes() {
				g, err := New(&Config{Mode: parent, Rules: rulesOf(t, rules...), Folders: []string{"/w"}, Home: "/home/u"})
				if err != nil {
					t.Fatal(err)
				}
				c, err := g.Child("sub", child)
				if err != nil {
					t.Fatal(err)
				}
				for kind, call := range calls {
					his := g.Guard("T").Judge(t.Context(), []Request{call}, nil)
					own := c.Guard("T").Judge(t.Context(), []Request{call}, nil)
					if effectOrder(own.Effect) < effectOrder(his.Effect) {
						t.Errorf("%q, parent %s, child %s, %s: the child gets %s by %s, the parent %s by %s",
							rules, parent, child, kind, own.Effect, own.By, his.Effect, his.By)
					}
				}
			}
		}
	}
	for kind, call := range calls {
		w := environment{folders: []string{"/w"}, home: "/home/u"}
		if got := w.kind(w.viewOf(call)).kind; got != kind {
			t.Errorf("%+v is %q, want %q", call, got, kind)
		}
	}
}
