package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/transcript"
)

// counter makes ids of new items.
func counter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("new-%d", n) }
}

func TestRepair(t *testing.T) {
	for _, tt := range []struct {
		name  string
		items []string
		want  string // ids of the result; new items by their kind
		notes string
	}{
		{"sound", []string{"user", "call a", "result a"}, "user, call a, result a", ""},
		{"at the end", []string{"user", "call a b", "result b"}, "user, call a b, result b, unknown a", "tool_use without matching tool_result a 1"},
		{"in the middle", []string{"call a", "user"}, "call a, unknown a, user", "tool_use without matching tool_result a 0"},
		{
			"a late result",
			[]string{"call a", "user", "result a"},
			"call a, unknown a, user, notice",
			"tool_use without matching tool_result a 0; duplicate tool_result a 2",
		},
		{"orphan", []string{"user", "result z", "user 2"}, "user, notice, user 2", "orphaned tool_result z 1"},
		{"orphan among results", []string{"call a", "result a z", "user"}, "call a, result a z, notice, user", "orphaned tool_result z 1"},
		{
			"orphan before the result",
			[]string{"call a b", "result z", "result a", "result b", "user"},
			"call a b, result a, result b, notice, user", "orphaned tool_result z 1",
		},
		{"second result", []string{"call a", "result a", "result a", "user"}, "call a, result a, notice, user", "duplicate tool_result a 2"},
		{"second use", []string{"call a", "result a", "call a b", "result b"}, "call a, result a, call a b, result b, notice", "duplicate tool_use a 2"},
		{"second use alone", []string{"call a", "result a", "call a"}, "call a, result a, notice", "duplicate tool_use a 2"},
		{
			"calls beside half the results",
			[]string{"call a b", "mixed a > c", "result c"},
			"call a b, unknown b, mixed a > c, result c",
			"tool_use without matching tool_result b 0",
		},
		{
			"everything at once",
			[]string{"result z", "call a", "call a", "result a"},
			"notice, call a, result a, notice",
			"orphaned tool_result z 0; duplicate tool_use a 2",
		},
	} {
		in := lines(tt.items...)
		out, notes, err := Repair(in, counter())
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got, noted []string
		for _, e := range out {
			switch {
			case !strings.HasPrefix(e.ID(), "new-"):
				got = append(got, e.ID())
			case e.Role() == transcript.RoleNotification:
				got = append(got, "notice")
			default:
				got = append(got, "unknown "+e.ResultIDs()[0])
			}
		}
		for _, n := range notes {
			noted = append(noted, fmt.Sprintf("%s %s %d", n.Fault, n.UseID, n.Item))
		}
		if strings.Join(got, ", ") != tt.want || strings.Join(noted, "; ") != tt.notes {
			t.Errorf("%s:\nhave %s\nwant %s\nnotes %s", tt.name, strings.Join(got, ", "), tt.want, strings.Join(noted, "; "))
		}
		if err := transcript.Validate(out); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestRepairProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyItems(t)
		out, notes, err := Repair(in, counter())
		if err != nil {
			t.Fatalf("%v of\n%s", err, show(in))
		}
		if err := transcript.Validate(out); err != nil || !isValid(out) {
			t.Fatalf("%v: repaired\n%sinto\n%s", err, show(in), show(out))
		}
		if ok := transcript.Validate(in) == nil; ok != (len(notes) == 0) || ok && !slices.EqualFunc(in, out, same) {
			t.Fatalf("notes %v for\n%s", notes, show(in))
		}
		if again, notes, err := Repair(out, counter()); err != nil || len(notes) > 0 || !slices.EqualFunc(out, again, same) {
			t.Fatalf("repaired twice: %v %v", notes, err)
		}
		nothingLost(t, in, out, notes)
	})
}

func same(a, b transcript.Encoded) bool { return string(a.JSON) == string(b.JSON) }

// nothingLost checks that every part is still there, or that there are a note with its id and a
// notification with its text.
func nothingLost(t *rapid.T, in, out []transcript.Encoded, notes []Note) {
	var kept, notices []string
	for _, e := range out {
		if e.Role() == transcript.RoleNotification {
			notices = append(notices, e.Text())
			continue
		}
		for p := range e.Parts() {
			kept = append(kept, string(p))
		}
	}
	for i, e := range in {
		at := -1
		for p := range e.Parts() {
			at++
			if k := slices.Index(kept, string(p)); k >= 0 {
				kept = slices.Delete(kept, k, k+1)
				continue
			}
			it, err := in[i].Decode()
			if err != nil {
				t.Fatal(err)
			}
			var id, text string
			switch part := it.Parts[at].(type) {
			case transcript.ToolUse:
				id, text = part.ID, string(part.Input)
			case transcript.ToolResult:
				id, text = part.UseID, resultText(part)
			default:
				t.Fatalf("part %s of item %d is gone", p, i)
			}
			if !slices.ContainsFunc(notes, func(n Note) bool { return n.UseID == id && n.Item == i }) {
				t.Fatalf("part %s of item %d is gone without a note: %v", p, i, notes)
			}
			quoted := fmt.Sprintf("%q", text)
			if !slices.ContainsFunc(notices, func(s string) bool {
				return strings.Contains(s, id) && strings.Contains(s, quoted[1:len(quoted)-1])
			}) {
				t.Fatalf("part %s of item %d is gone without a notice: %q", p, i, notices)
			}
		}
	}
}

func TestRepairNotices(t *testing.T) {
	long := strings.Repeat("ü", 300)
	native := &transcript.Native{API: "x", JSON: []byte(`["all of it"]`)}
	in := []transcript.Encoded{
		transcript.ToolResult{UseID: "z", Content: []transcript.Part{transcript.Text{Text: long}}}.Item().MustEncode(),
		transcript.ToolResult{UseID: "y", Content: []transcript.Part{transcript.Structured{Value: []byte(`{"v":1}`)}}}.Item().MustEncode(),
		transcript.ToolResult{UseID: "x"}.Item().MustEncode(),
		transcript.Item{Role: transcript.RoleAssistant, Native: native, Parts: []transcript.Part{
			transcript.Text{Text: "I call twice"}, transcript.ToolUse{ID: "a", Name: "First"}, transcript.ToolUse{ID: "a", Name: "Second", Input: []byte(`{"p":1}`)},
		}}.MustEncode(),
	}
	out, notes, err := Repair(in, counter())
	if err != nil || len(notes) != 5 {
		t.Fatalf("%v %v", notes, err)
	}
	for i, want := range []string{strings.Repeat("ü", 200) + "…", `\"v\":1`, `content: ""`, "", "", `Second {\"p\":1}`} {
		if want != "" && !strings.Contains(out[i].Text(), want) {
			t.Errorf("item %d says %s, want %s", i, out[i].Text(), want)
		}
	}
	if out[3].Native("x") != nil {
		t.Error("the native form still has what was set aside")
	}
	for _, n := range notes {
		if !strings.Contains(n.String(), n.UseID) {
			t.Errorf("the note %q does not name %s", n, n.UseID)
		}
	}
	if _, _, err := Repair(lines("call a"), func() string { return "" }); err != nil {
		t.Errorf("without ids: %v", err)
	}
}

func TestOutcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		it   transcript.Item
		text string
		meta string
	}{
		"unknown":   {UnknownOutcome("u"), OutcomeUnknown, `"unknown"`},
		"never ran": {NotStarted("u"), NotRun, ""},
	} {
		r, ok := tt.it.Parts[0].(transcript.ToolResult)
		if !ok || r.UseID != "u" || !r.IsError || r.Text() != tt.text || string(tt.it.Metadata["outcome"]) != tt.meta {
			t.Errorf("%s: %+v", name, tt.it)
		}
	}
}
