package tools

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/tool"
)

// A long page is read by a model, and that is counted; a short one is given as it is.
func TestReadPage(t *testing.T) {
	for _, tt := range []struct {
		page, want string
		calls      int
	}{
		{"short", "it says: short", 2},
		{strings.Repeat("long ", 2000), "it says: [answer of reading from the page]\nforty-two", 3},
		{strings.Repeat("x", pageLimit+7), "of the first 200000 of 200007 bytes]\nforty-two", 3},
	} {
		script := `
name: reading
steps:
  - {when: {user: go}, tool_uses: [{tool: Look, input: {}}]}
  - {when: {system: You read a web page, user: "The question: how many?"}, text: forty-two}
  - {when: {tool: Look}, text: "it says: {{last_result}}"}
`
		m, err := scripted.New([]byte(script), nil)
		if err != nil {
			t.Fatal(err)
		}
		b := &Toolbox{settings: &settings.Settings{}}
		look, err := tool.New(tool.Spec{Name: "Look", Description: "Looks.", ReadOnly: true}, func(ctx context.Context, _ *tool.Call, _ struct{}) (tool.Result, error) {
			text, err := b.readPage(ctx, "how many?", tt.page)
			return tool.Text(text), err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := tool.NewRegistry(look)
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(m, &agent.Options{Tools: all})
		if err != nil {
			t.Fatal(err)
		}
		res, err := a.Prompt(t.Context(), "go")
		if err != nil || !strings.Contains(res.Text, tt.want) {
			t.Errorf("%v %+v, want %q", err, res, tt.want)
			continue
		}
		calls := 0
		for _, u := range res.ByModel {
			calls += u.Calls
		}
		if calls != tt.calls {
			t.Errorf("%.10q: %d calls are counted, want %d", tt.page, calls, tt.calls)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
