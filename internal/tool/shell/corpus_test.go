package shell_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/tool/files"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/tool"
)

// TestToolsOfTheCorpus claims what the cases say of tools that run commands; package files
// has the one about files.
func TestToolsOfTheCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "tools"), map[string]func(*testing.T, corpus.Case){
		"ak-tool-001": corpus.Test(`{"given": {"state":"tool output larger than the inline limit, policy store-for-readback"}, "when": ["call","read back with offset/limit"], "expect": {"model sees":"artifact id and size","read":"bounded slices; limit 0 rejected; more than max rejected"}}`, tryReadback),
		// The code is told, to the model and beside. It is no error of the tool here, where the
		// case has one: a grep that finds nothing has done its work.
		"ak-tool-006": corpus.Test(`{"given": {"state":"shell command exits 3"}, "when": ["run"], "expect": {"output":{"exit_code":3,"success":false},"is_error":true}}`, func(t *testing.T, _ corpus.Case) {
			got, r := open(t, nil).run(t.Context(), "exit 3", 0)
			if r.ExitCode == nil || *r.ExitCode != 3 || !strings.Contains(got, "Exit code: 3") {
				t.Errorf("%+v", r)
			}
		}),
		"ak-tool-007": corpus.Test(`{"given": {"state":"shell command forks a child that holds stdout, timeout 100 ms"}, "when": ["run"], "expect": {"returns within":"timeout + grace","all processes of the group":"gone","output":"capped"}}`, tryHolder),
	}, map[string]string{"ak-tool-005": "package files tries it"})
}

// tryReadback: of an output that is too long the model sees where it is and how long,
// and reads it in pieces whose size is bounded whatever it asks for.
func tryReadback(t *testing.T, _ corpus.Case) {
	out := realTemp(t)
	b := open(t, &shell.Options{OutputDir: out, MaxOutput: 1000})
	got, _ := b.run(t.Context(), "seq 100000", 0)
	found := regexp.MustCompile(`(\d+) bytes.*the whole output is in (\S+)`).FindStringSubmatch(strings.ReplaceAll(got, "\n", " "))
	if found == nil {
		t.Fatalf("%q", got)
	}
	path := strings.TrimRight(found[2], " …]")
	folders, err := workdir.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer folders.Close()
	f, err := files.New(folders, &files.Options{MaxBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	read := func(more string) tool.Result {
		in := `{"file_path":` + strconv.Quote(path) + more + `}`
		r, err := f.Tools()[0].Run(t.Context(), &tool.Call{ID: "r", Tool: "Read", Input: json.RawMessage(in)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if text := textOf(read(`,"offset":49999,"limit":2`)); !strings.HasPrefix(text, "50000\t50000\n50001\t50001") {
		t.Errorf("a slice: %q", text)
	}
	for _, limit := range []string{"", `,"limit":4096`} {
		if text := textOf(read(limit)); len(text) > 5000 || !strings.Contains(text, "continue with offset") {
			t.Errorf("%q shows %d bytes", limit, len(text))
		}
	}
	for _, limit := range []string{"-1", "0", "4097", "1000000000"} {
		if r := read(`,"limit":` + limit); !r.IsError {
			t.Errorf("the limit %s was taken", limit)
		}
	}
}

// tryHolder: a child that holds the output open is not waited for, and is gone.
func tryHolder(t *testing.T, _ corpus.Case) {
	b := open(t, &shell.Options{Grace: 50 * time.Millisecond, MaxOutput: 1000})
	began := time.Now()
	got, r := b.run(t.Context(), "sleep 100 & echo $! > pid; head -c 100000 /dev/zero | tr '\\0' x; wait", 100)
	if !r.IsError || time.Since(began) > 20*time.Second || len(got) > 1500 {
		t.Errorf("after %v: %d bytes", time.Since(began), len(got))
	}
	raw, err := os.ReadFile(b.dir + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || !gone(pid) {
		t.Errorf("process %q lives on", raw)
	}
}
