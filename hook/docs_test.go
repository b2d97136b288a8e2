package hook

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// rows are the cells of a document's table that has this heading.
func rows(t *testing.T, heading string) [][]string {
	t.Helper()
	doc, err := os.ReadFile("../docs/reference/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(doc), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("the document has no table %q", heading)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var all [][]string
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		all = append(all, cells)
	}
	return all
}

func TestHooksDocumentEvents(t *testing.T) {
	all := rows(t, "| event | Open Agent SDK | when | matcher | blocks | guards | time |")
	if len(all) != len(events) {
		t.Errorf("%d events in the document, %d in the code", len(all), len(events))
	}
	for i, in := range events[:min(len(all), len(events))] {
		in, _ = in.Event.info()
		row := all[i]
		guards := ""
		if in.Guards {
			guards = "yes"
		}
		limit, err := time.ParseDuration(row[6])
		if err != nil || limit != in.Timeout {
			t.Errorf("%s: the time %q is %v in the code", in.Event, row[6], in.Timeout)
		}
		if row[0] != string(in.Event) || row[1] != in.Seed || row[2] == "" || row[3] != in.Matches || row[5] != guards {
			t.Errorf("%s: %q is %+v in the code", in.Event, row, in)
		}
		if (row[4] != "") != (eventEffects(in)&canBlock != 0) {
			t.Errorf("%s: blocks %q is not so in the code", in.Event, row[4])
		}
	}
}

func TestHooksDocumentAnswers(t *testing.T) {
	all := rows(t, "| what | Claude Code's JSON | Open Agent SDK's JSON | Go | events |")
	for i, x := range effects {
		var with, without []string
		for _, in := range events {
			if eventEffects(in)&x.can != 0 {
				with = append(with, string(in.Event))
			} else {
				without = append(without, string(in.Event))
			}
		}
		want := strings.Join(with, ", ")
		if len(without) < 5 {
			want = "all but " + strings.Join(without, ", ")
		}
		j := slices.IndexFunc(all, func(row []string) bool { return row[0] == x.name })
		if j < 0 {
			t.Errorf("the document does not have %q", x.name)
			continue
		}
		if got := all[j][4]; got != want {
			t.Errorf("%d %s: the document says %q, the code %q", i, x.name, got, want)
		}
	}
	if len(all) != len(effects) {
		t.Errorf("%d answers in the document, %d in the code", len(all), len(effects))
	}
}

// A recipe that decides about a call with jq blocks the call if jq is missing or finds nothing.
func TestHookRecipesFailClosed(t *testing.T) {
	doc, err := os.ReadFile("../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		testneed.Need(t, "no bash on the PATH: apt-get install bash makes this run")
	}
	tried := 0
	for _, part := range strings.Split(string(doc), "\n```bash\n")[1:] {
		script, _, _ := strings.Cut(part, "\n```")
		if !strings.Contains(script, "jq") || !strings.Contains(script, "exit 2") {
			continue
		}
		tried++
		for _, path := range []string{t.TempDir(), os.Getenv("PATH")} {
			run := exec.CommandContext(t.Context(), bash, "-c", script)
			run.Env, run.Stdin = []string{"PATH=" + path}, strings.NewReader(`{"tool_input": {}}`)
			if err := run.Run(); run.ProcessState == nil || run.ProcessState.ExitCode() != 2 {
				t.Errorf("PATH %s: %v, want exit code 2:\n%s", path, err, script)
			}
		}
	}
	if tried != 2 {
		t.Errorf("tried %d recipes", tried)
	}
}
