package transcript

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// line makes an item of a short form: "user", "call a b", "result a", "mixed a > b"
// (answers a and calls b), or a role.
func line(s string) Encoded {
	f := strings.Fields(s)
	it := Item{ID: s}
	switch f[0] {
	case "call":
		it.Role = RoleAssistant
		for _, id := range f[1:] {
			it.Parts = append(it.Parts, ToolUse{ID: id, Name: "T"})
		}
	case "result":
		it.Role = RoleTool
		for _, id := range f[1:] {
			it.Parts = append(it.Parts, ToolResult{UseID: id, Content: []Part{Text{Text: "result of " + id}}})
		}
	case "mixed":
		it.Role = RoleUser
		calls := false
		for _, id := range f[1:] {
			switch {
			case id == ">":
				calls = true
			case calls:
				it.Parts = append(it.Parts, ToolUse{ID: id, Name: "T"})
			default:
				it.Parts = append(it.Parts, ToolResult{UseID: id})
			}
		}
	default:
		it.Role = Role(f[0])
		it.Parts = []Part{Text{Text: s}}
	}
	return it.MustEncode()
}

func lines(all ...string) []Encoded {
	var items []Encoded
	for _, s := range all {
		items = append(items, line(s))
	}
	return items
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		items []string
		fault string
		ids   string
		at    int
	}{
		{"nothing", nil, "", "", 0},
		{"no tools", []string{"system", "user", "assistant", "user"}, "", "", 0},
		{"a pair", []string{"user", "call a", "result a", "assistant"}, "", "", 0},
		{"two at once", []string{"call a b", "result a b"}, "", "", 0},
		{"two one by one", []string{"call a b", "result b", "result a"}, "", "", 0},
		{"a chain in one item", []string{"call a", "mixed a > b", "result b"}, "", "", 0},
		{"no result", []string{"call a"}, faultUnanswered, "a", 0},
		{"one of two", []string{"user", "call a b", "result a"}, faultUnanswered, "b", 1},
		{"user in between", []string{"call a", "user", "result a"}, faultUnanswered, "a", 1},
		{"notification in between", []string{"call a b", "result a", "notification", "result b"}, faultUnanswered, "b", 2},
		{"next call too early", []string{"call a", "call b", "result a", "result b"}, faultUnanswered, "a", 1},
		{"call beside half the results", []string{"call a b", "mixed a > c", "result b", "result c"}, faultUnanswered, "b", 1},
		{"orphan", []string{"result a"}, faultOrphanResult, "a", 0},
		{"result first", []string{"result a", "call a"}, faultOrphanResult, "a", 0},
		{"orphan among results", []string{"call a", "result a z"}, faultOrphanResult, "z", 1},
		{"second result", []string{"call a", "result a", "result a"}, faultDuplicateResult, "a", 2},
		{"second result in one item", []string{"call a", "result a a"}, faultDuplicateResult, "a", 1},
		{"late second result", []string{"call a", "result a", "user", "call b", "result b a"}, faultDuplicateResult, "a", 4},
		{"second use", []string{"call a", "result a", "call a"}, faultDuplicateUse, "a", 2},
		{"second use in one item", []string{"call a a"}, faultDuplicateUse, "a", 0},
		{"use of what it answers", []string{"call a", "mixed a > a"}, faultDuplicateUse, "a", 1},
	} {
		err := Validate(lines(tt.items...))
		if tt.fault == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		pe, ok := errors.AsType[*PairingError](err)
		if !ok || pe.Fault != tt.fault || strings.Join(pe.IDs, " ") != tt.ids || pe.Item != tt.at {
			t.Errorf("%s: %v, want %s %s at %d", tt.name, err, tt.fault, tt.ids, tt.at)
		}
	}
}

// transcriptOf returns a transcript with items.
func transcriptOf(items ...Encoded) (*Transcript, error) {
	t := &Transcript{}
	return t, t.Append(items...)
}

func TestTranscript(t *testing.T) {
	items := lines("user", "call a b", "result b")
	tr, err := transcriptOf(items...)
	if err != nil {
		t.Fatal(err)
	}
	if got := tr.Open(); !slices.Equal(got, []string{"a"}) || tr.Answered("a") || !tr.Answered("b") {
		t.Errorf("open: %v", got)
	}
	if u := tr.OpenUses(); len(u) != 1 || u[0].ID != "a" || u[0].Name != "T" {
		t.Errorf("open uses: %v", u)
	}
	if tr.Check() == nil || tr.Dispatchable() {
		t.Error("it could be sent with an open use")
	}
	if err := tr.Append(line("user")); err == nil || tr.Len() != 3 {
		t.Errorf("appended %v; %d items", err, tr.Len())
	}
	if err := tr.Append(line("result a")); err != nil || tr.Check() != nil || !tr.Dispatchable() || tr.OpenUses() != nil {
		t.Errorf("after the last result: %v", err)
	}
	if tr.Find("result b") != 2 || tr.Find("nobody") != -1 || tr.At(0).ID() != "user" || tr.Last().ID() != "result a" || len(tr.Items()) != 4 {
		t.Error("finding items")
	}
	if half, err := transcriptOf(lines("user", "result z", "user")...); err == nil || half.Len() != 1 {
		t.Errorf("of a broken list: %v", err)
	}
	var empty Transcript
	if empty.Check() != nil || empty.Dispatchable() || !empty.Last().IsZero() || empty.Find("x") != -1 {
		t.Error("the zero transcript")
	}
}

// isValid is a second, simple implementation of the pairing rule.
func isValid(items []Encoded) bool {
	used := map[string]int{}   // number of uses by id
	answer := map[string]int{} // number of results by id
	for i, e := range items {
		for _, id := range e.UseIDs() {
			if used[id]++; used[id] > 1 {
				return false
			}
			answers := 0
			for j := i + 1; j < len(items) && answers == 0; j++ {
				if len(items[j].ResultIDs()) == 0 {
					return false // another item comes before the result
				}
				if slices.Contains(items[j].ResultIDs(), id) {
					answers++
				} else if len(items[j].UseIDs()) > 0 {
					return false
				}
			}
			if answers == 0 {
				return false
			}
		}
		for _, id := range e.ResultIDs() {
			if answer[id]++; answer[id] > 1 {
				return false
			}
			if !slices.ContainsFunc(items[:i], func(b Encoded) bool { return slices.Contains(b.UseIDs(), id) }) {
				return false
			}
		}
	}
	return true
}

func TestValidateFollowsTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := anyTranscript(t)
		if err := Validate(items); (err == nil) != isValid(items) {
			t.Fatalf("Validate says %v of\n%s", err, show(items))
		}
		if items := paired(t); Validate(items) != nil {
			t.Fatalf("refused:\n%s", show(items))
		}
	})
}

func show(items []Encoded) string {
	var b strings.Builder
	for i, e := range items {
		fmt.Fprintf(&b, "%d %s\n", i, e.JSON)
	}
	return b.String()
}

func TestDispatchable(t *testing.T) {
	for _, r := range allRoles {
		tr, err := transcriptOf(lines("user", string(r))...)
		if err != nil {
			t.Fatal(err)
		}
		want := r == RoleUser || r == RoleTool || r == RoleNotification
		if tr.Dispatchable() != want || r.Dispatchable() != want {
			t.Errorf("%s: dispatchable %v", r, tr.Dispatchable())
		}
	}
}
