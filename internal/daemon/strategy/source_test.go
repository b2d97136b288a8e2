package strategy

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkSource checks that the source of a strategy is parsed to the same strategy.
func checkSource(t *testing.T, s *Strategy) {
	t.Helper()
	again, err := Parse("source.json", s.Source)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Source)
	}
	if !bytes.Equal(again.Source, s.Source) {
		t.Errorf("the source differs:\n%s\n%s", s.Source, again.Source)
	}
	whole := *s
	whole.Path = ""
	if diff := cmp.Diff(&whole, again, cmp.AllowUnexported(Flow{}, node{})); diff != "" {
		t.Error(diff)
	}
	var tree struct{ Type, Name string }
	if err := json.Unmarshal(s.Flow.Tree(), &tree); err != nil || tree.Type == "" || tree.Name == "" {
		t.Errorf("%s: %v", s.Flow.Tree(), err)
	}
}

func TestExampleStrategies(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/strategies/*.*")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		s, err := Load(file)
		if err != nil {
			t.Error(err)
			continue
		}
		checkSource(t, s)
	}
}

// The examples in the documentation of strategies are valid.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/strategies.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(yaml|json)\n(.*?)```").FindAllSubmatch(b, -1)
	if len(blocks) == 0 {
		t.Fatal("no examples")
	}
	for _, block := range blocks {
		s, err := Parse("strategies.md."+string(block[1]), block[2])
		if err != nil {
			t.Errorf("%v in\n%s", err, block[2])
			continue
		}
		checkSource(t, s)
	}
	for _, keys := range agentKeys {
		for _, key := range keys {
			if !bytes.Contains(b, []byte("`"+key)) {
				t.Errorf("agents: %s is not described", key)
			}
		}
	}
	for _, keys := range flowKeys {
		for _, key := range keys {
			if !bytes.Contains(b, []byte("`"+key)) {
				t.Errorf("flows: %s is not described", key)
			}
		}
	}
	for _, refused := range []map[string]string{refusedStrategy, refusedAgent, refusedFlow} {
		for key := range refused {
			if !bytes.Contains(b, []byte("`"+key)) {
				t.Errorf("%s is not described", key)
			}
		}
	}
}

func TestSingle(t *testing.T) {
	checkSource(t, Single(Agent{Name: "main", Type: LLM, Model: "x/y", SystemPrompt: "<b> & \u2028", Tools: []string{}}))
	checkSource(t, Single(Agent{Name: "main", Type: User, Prompt: "what?"}))
	s := Single(Agent{Name: "main", Type: Command, Command: "ls", Stdin: true})
	checkSource(t, s)
	if a, ok := s.Agent("main"); !ok || a.Command != "ls" {
		t.Error(a, ok)
	}
	if _, ok := s.Agent("other"); ok {
		t.Error("an unknown agent was found")
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("../../../testdata/strategies/*.*")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil {
			f.Add(b, true)
			f.Add(b, false)
		}
	}
	f.Add([]byte("a: &x [*x]\n? [k]\n: v\n<<: {}"), true)
	f.Add([]byte("- - - !!binary |\n  x"), true)
	f.Add([]byte(strategyWith(`{"broadcast":["a",{"cycle":{"steps":["b"],"observer":"c"}}]}`)), false)
	f.Fuzz(func(t *testing.T, b []byte, yaml bool) {
		name := "x.json"
		if yaml {
			name = "x.yaml"
		}
		s, err := Parse(name, b)
		if err == nil {
			checkSource(t, s)
		}
	})
}
