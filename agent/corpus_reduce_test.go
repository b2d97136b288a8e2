package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/transcript"
)

// parseItem parses the short form of an item in cases: "assistant call c1 c2", "failed tool result c1", a
// role, "reasoning", or the text of a user.
func parseItem(s string) transcript.Item {
	s = strings.TrimSpace(s)
	says := []transcript.Part{transcript.Text{Text: s}}
	if ids, ok := strings.CutPrefix(s, "assistant call "); ok {
		return asks(strings.Fields(ids)...)
	}
	if ids, ok := strings.CutPrefix(strings.TrimPrefix(s, "failed "), "tool result "); ok {
		it := transcript.Item{Role: transcript.RoleTool}
		for id := range strings.FieldsSeq(ids) {
			it.Parts = append(it.Parts, result(id, strings.HasPrefix(s, "failed ")).Parts...)
		}
		return it
	}
	switch role := transcript.Role(s); {
	case s == "reasoning":
		return transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Thinking{Text: s}}}
	case s == "reasoned answer":
		return thinks("hm")
	case role.Valid():
		return transcript.Item{Role: role, Parts: says}
	}
	return transcript.UserText(s)
}

// parseStep parses the short form of a compaction step in cases.
func parseStep(t *testing.T, s string) agent.Mutator {
	t.Helper()
	if count, ok := strings.CutPrefix(s, "keep recent "); ok {
		var n int
		if _, err := fmt.Sscan(count, &n); err != nil {
			t.Fatal(err)
		}
		return agent.CompactionStep{Step: "keepRecent", Items: n}
	}
	switch s {
	case "drop failed tool results":
		return agent.CompactionStep{Step: "dropFailed"}
	case "drop reasoning":
		return agent.CompactionStep{Step: "dropThinking"}
	}
	t.Fatalf("unknown strategy %q", s)
	return nil
}

// checkReduced runs a case with a transcript, as a list or one text, and a step.
func checkReduced(t *testing.T, c corpus.Case) {
	var given struct {
		Transcript json.RawMessage
		Strategy   string
	}
	var when []string
	var expect struct {
		Len      *int `json:"result_len"`
		Left     *int
		Removed  *int
		PairKept *bool `json:"pair kept"`
	}
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Action(), &when)
	c.Decode(t, c.Expect(), &expect)
	var reported []string
	if err := json.Unmarshal(given.Transcript, &reported); err != nil {
		var line string
		c.Decode(t, given.Transcript, &line)
		reported = strings.Split(line, ",")
	}
	var items []transcript.Item
	for _, s := range reported {
		items = append(items, parseItem(s))
	}
	if given.Strategy == "" {
		given.Strategy = when[0]
	}
	all := list(t, items...)
	got := reduce(t, parseStep(t, given.Strategy), all)
	for name, n := range map[string]struct {
		want *int
		got  int
	}{
		"result_len": {expect.Len, len(got)}, "left": {expect.Left, len(got)}, "removed": {expect.Removed, len(all) - len(got)},
	} {
		if n.want != nil && *n.want != n.got {
			t.Errorf("%s is %d, want %d: %v", name, n.got, *n.want, idsOf(got))
		}
	}
	pairs := slices.ContainsFunc(got, func(e transcript.Encoded) bool { return len(e.UseIDs()) > 0 }) // whole pairs, because the transcript is valid
	if expect.PairKept != nil && *expect.PairKept != pairs {
		t.Errorf("a pair is kept: %v", pairs)
	}
}

// Variants of the corpus cases.
func TestCorpusReduceVariants(t *testing.T) {
	for _, c := range []struct{ transcript, strategy, expect string }{
		{`["old","recent"]`, "keep recent 2", `{"result_len":2,"removed":0}`},
		{`["old","recent"]`, "keep recent 100", `{"removed":0}`},
		{`["old","older","recent"]`, "keep recent 1", `{"result_len":1,"removed":2}`},
		{`["old","recent"]`, "keep recent 0", `{"result_len":1}`},
		{`["old","assistant call c1 c2","tool result c1","tool result c2","recent"]`, "keep recent 2", `{"result_len":4,"removed":1,"pair kept":true}`},
		{`["old","assistant call c1","tool result c1","assistant call c2","tool result c2","recent"]`, "keep recent 2", `{"result_len":3,"removed":3,"pair kept":true}`},
		{`["old","assistant call c1","tool result c1"]`, "keep recent 1", `{"result_len":3,"removed":0,"pair kept":true}`},
		{`["old","assistant","assistant call c1","tool result c1"]`, "keep recent 1", `{"result_len":3,"removed":1,"pair kept":true}`},
		{`["system","old","assistant","recent"]`, "keep recent 1", `{"result_len":2,"removed":2}`},
		{`["system","developer","context","old","assistant","recent"]`, "keep recent 2", `{"result_len":5,"removed":1}`},
		{`["old","context","assistant","system","recent"]`, "keep recent 2", `{"result_len":4,"removed":1}`},
		{`["assistant call c1","tool result c1","one more item"]`, "drop failed tool results", `{"removed":0}`},
		{`["assistant call c1 c2","failed tool result c1","tool result c2","x"]`, "drop failed tool results", `{"removed":1,"pair kept":true}`},
		{`["assistant call c1 c2","failed tool result c1","failed tool result c2","x"]`, "drop failed tool results", `{"left":1}`},
		{`["assistant call c1 c2","failed tool result c1 c2","x"]`, "drop failed tool results", `{"left":1}`},
		{`["reasoning","reasoned answer","recent"]`, "drop reasoning", `{"left":2,"removed":1}`},
	} {
		t.Run(c.transcript+" "+c.strategy, func(t *testing.T) {
			checkReduced(t, corpus.NewCase(map[string]string{"given": `{"transcript":` + c.transcript + `}`, "when": `["` + c.strategy + `"]`, "expect": c.expect}))
		})
	}
}

// Fixed items of the host are neither summarized nor removed.
func TestSummariseKeepsFixedItems(t *testing.T) {
	big := strings.Repeat("word ", 200)
	items := list(t, parseItem("system"), parseItem("one "+big), parseItem("assistant"), parseItem("developer"), parseItem("two "+big), parseItem("recent"))
	var asked string
	got, err := agent.CompactionStep{Step: "summarise", Tokens: 10}.Mutate(t.Context(), agent.MutatorContext{
		Items: items, NewID: func() string { return "new" },
		Ask: func(_ context.Context, _ string, items []transcript.Encoded) (transcript.Item, error) {
			asked = items[0].Text()
			return transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "told"}}}, nil
		},
	})
	if err != nil || !slices.Equal(idsOf(got), []string{"i0", "i3", "new", "i5"}) {
		t.Errorf("left %v: %v", idsOf(got), err)
	}
	if strings.Contains(asked, "developer") || !strings.Contains(asked, "two word") {
		t.Errorf("asked to summarize %.300q", asked)
	}
}
