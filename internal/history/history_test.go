package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/transcript"
)

// line makes an item of a short form: "user", "call a b", "result a", "mixed a > b"
// (answers a and calls b), or a role.
func line(s string) transcript.Encoded {
	f := strings.Fields(s)
	it := transcript.Item{ID: s}
	switch f[0] {
	case "call":
		it.Role = transcript.RoleAssistant
		for _, id := range f[1:] {
			it.Parts = append(it.Parts, transcript.ToolUse{ID: id, Name: "T"})
		}
	case "result":
		it.Role = transcript.RoleTool
		for _, id := range f[1:] {
			it.Parts = append(it.Parts, transcript.ToolResult{UseID: id, Content: []transcript.Part{transcript.Text{Text: "result of " + id}}})
		}
	case "mixed":
		it.Role = transcript.RoleUser
		calls := false
		for _, id := range f[1:] {
			switch {
			case id == ">":
				calls = true
			case calls:
				it.Parts = append(it.Parts, transcript.ToolUse{ID: id, Name: "T"})
			default:
				it.Parts = append(it.Parts, transcript.ToolResult{UseID: id})
			}
		}
	default:
		it.Role = transcript.Role(f[0])
		it.Parts = []transcript.Part{transcript.Text{Text: s}}
	}
	return it.MustEncode()
}

func lines(all ...string) []transcript.Encoded {
	var items []transcript.Encoded
	for _, s := range all {
		items = append(items, line(s))
	}
	return items
}

// anyItems draws items whose uses and results sometimes pair. Few ids make collisions likely.
func anyItems(t *rapid.T) []transcript.Encoded {
	few := rapid.SampledFrom([]string{"a", "b", "c"})
	var items []transcript.Encoded
	for i := range rapid.IntRange(0, 12).Draw(t, "items") {
		it := transcript.Item{ID: fmt.Sprintf("item-%d", i), Role: transcript.RoleUser}
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0:
			it.Parts = []transcript.Part{transcript.Text{Text: fmt.Sprintf("text of %d", i)}}
		case 1:
			it.Role = transcript.RoleAssistant
			it.Native = &transcript.Native{API: "some", JSON: json.RawMessage(`[]`)}
			for range rapid.IntRange(1, 3).Draw(t, "uses") {
				it.Parts = append(it.Parts, transcript.ToolUse{ID: few.Draw(t, "use"), Name: "T", Input: json.RawMessage(fmt.Sprintf(`{"from":%d}`, i))})
			}
		case 2, 3:
			it.Role = transcript.RoleTool
			for k := range rapid.IntRange(1, 2).Draw(t, "results") {
				it.Parts = append(it.Parts, transcript.ToolResult{UseID: few.Draw(t, "answers"), Content: []transcript.Part{transcript.Text{Text: fmt.Sprintf("result %d of %d", k, i)}}})
			}
		case 4: // results and uses in one item
			it.Parts = []transcript.Part{
				transcript.ToolUse{ID: few.Draw(t, "use"), Name: "T"},
				transcript.ToolResult{UseID: few.Draw(t, "answers"), Content: []transcript.Part{transcript.Structured{Value: json.RawMessage(fmt.Sprintf(`{"value":%d}`, i))}}},
				transcript.Text{Text: "mixed"},
			}
		}
		items = append(items, it.MustEncode())
	}
	return items
}

// isValid is a second, simple implementation of the pairing rule, as in the tests of package transcript.
func isValid(items []transcript.Encoded) bool {
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
			if !slices.ContainsFunc(items[:i], func(b transcript.Encoded) bool { return slices.Contains(b.UseIDs(), id) }) {
				return false
			}
		}
	}
	return true
}

func show(items []transcript.Encoded) string {
	var b strings.Builder
	for i, e := range items {
		fmt.Fprintf(&b, "%d %s\n", i, e.JSON)
	}
	return b.String()
}
