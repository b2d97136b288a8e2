package holdfast

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// wordBudget contains how often each word may be used. A number there only goes down:
//
//	go test . -run TestWords -update
const wordBudget = "testdata/words.txt"

type oldWord struct{ name, expr, instead string }

// oldWords are words that docs, help, messages and comments should not use, with what to write instead.
var oldWords = []oldWord{
	{"a no, a yes", `an? (yes|no)\b`, "a deny, an allow"},
	{"anew", `anew`, "again, recreate, rebuild"},
	{"beside", `beside`, "next to, in addition to"},
	{"bound", `bounds?`, "limit, maximum"},
	{"deed", `deeds?`, "action, call"},
	{"doings", `doings`, "actions"},
	{"for good", `for good`, "permanently; save (a rule)"},
	{"go on with", `(go|goes|gone|going|went) on with`, "resume, continue"},
	{"goes on", `(goes|gone|go) on`, "continue, resume"},
	{"guest", `guests?`, "vendor agent"},
	{"he", `(he|him|his)`, "they, or the role"},
	{"heed", `heed(s|ed)?`, "use, apply"},
	{"is none of", `is none of`, "is not a"},
	{"lies", `lies`, "is, is stored"},
	{"mate", `mates?`, "teammate"},
	{"mend", `mend(s|ed|ing)?`, "repair, fix"},
	{"nobody", `nobody`, "no one, or a passive"},
	{"of another make", `of (another|other) makes?`, "vendor agent"},
	{"on record", `on record`, "recorded, in the log"},
	{"ours, theirs", `(ours|theirs|yours)`, "Holdfast's, the user's"},
	{"purse", `purses?`, "budget"},
	{"seed", `seeds?( 00\d)?`, "Open Agent SDK, agentkit"},
	{"somebody", `somebody|someone`, "the user, a client, or a passive"},
	{"stands there", `stands? (there|here)`, "is in, appears"},
	{"taken up", `(take|takes|taken|took) up`, "resume, continue"},
	{"told", `told`, "reported, notified, recorded"},
	{"what becomes of", `what (becomes|became|is to become) of`, "what happens to, the result of"},
	{"whoever", `whoever`, "the client that, or a passive"},
	{"wish", `wish(es|ed)?`, "(say what it is)"},
}

// The old words do not return: each is used at most as often as its budget says, in strings and comments of
// non-test code, in the console and in the docs.
func TestWords(t *testing.T) {
	texts := map[string]string{}
	for _, f := range goFiles(t) {
		if !strings.HasSuffix(f, "_test.go") && !strings.HasPrefix(f, "bench/") {
			texts[f] = proseOfGo(t, f)
		}
	}
	out, err := exec.Command("git", "ls-files", "*.md", "internal/console/web/*.js", "internal/console/web/index.html").Output()
	if err != nil {
		t.Fatal(err)
	}
	for f := range strings.FieldsSeq(string(out)) {
		generated := f == "docs/texts.md" || f == "docs/reference/commands.md" || f == "docs/reference/errors.md"
		if generated || f == "CHANGELOG.md" || strings.Contains(f, "testdata/") || strings.Contains(f, "/vendor/") || strings.HasPrefix(f, "bench/") || f == "docs/glossary.md" {
			continue
		}
		if b, err := os.ReadFile(f); err == nil { // or it was removed just now
			texts[f] = string(b)
		}
	}
	files := make([]string, 0, len(texts))
	for f := range texts {
		files = append(files, f)
	}
	slices.Sort(files)
	budget := readBudget(t)
	var exprs []string
	var whole []*regexp.Regexp
	for _, w := range oldWords {
		exprs = append(exprs, w.expr)
		whole = append(whole, regexp.MustCompile(`(?i)^(`+w.expr+`)$`))
	}
	anyOf := regexp.MustCompile(`(?i)\b(` + strings.Join(exprs, "|") + `)\b`)
	places := make([][]string, len(oldWords))
	for _, f := range files {
		for _, at := range anyOf.FindAllStringIndex(texts[f], -1) {
			word := texts[f][at[0]:at[1]]
			i := slices.IndexFunc(whole, func(e *regexp.Regexp) bool { return e.MatchString(word) })
			places[i] = append(places[i], fmt.Sprintf("%s:%d", f, 1+strings.Count(texts[f][:at[0]], "\n")))
		}
	}
	var lines strings.Builder
	for i, w := range oldWords {
		n := len(places[i])
		allowed, known := budget[w.name]
		switch {
		case !known && !*docgen.Update:
			t.Errorf("%s has no budget for %q; hint: go test . -run TestWords -update", wordBudget, w.name)
		case known && n > allowed:
			t.Errorf("%q is used %d times, at most %d are allowed; hint: write %s. It is in\n\t%s", w.name, n, allowed, w.instead, strings.Join(recent(places[i]), "\n\t"))
		}
		if !known || n < allowed {
			allowed = n
		}
		fmt.Fprintf(&lines, "%s: %d\n", w.name, allowed)
	}
	if *docgen.Update {
		if err := os.WriteFile(wordBudget, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// recent returns the lines of files that are changed or belong to the last commit; all of them if there are
// none.
func recent(places []string) []string {
	out, _ := exec.Command("git", "diff", "--name-only", "HEAD~1").Output()
	changed := strings.Fields(string(out))
	list := slices.DeleteFunc(slices.Clone(places), func(p string) bool {
		file, _, _ := strings.Cut(p, ":")
		return !slices.Contains(changed, file)
	})
	if len(list) == 0 {
		return places
	}
	return list
}

func readBudget(t *testing.T) map[string]int {
	b, err := os.ReadFile(wordBudget)
	if err != nil && !*docgen.Update {
		t.Fatal(err)
	}
	budget := map[string]int{}
	for line := range strings.Lines(string(b)) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("%s: %q is not WORD: NUMBER", wordBudget, line)
		}
		budget[name] = n
	}
	return budget
}

// proseOfGo returns only the strings and comments of a file, each on its line.
func proseOfGo(t *testing.T, name string) string {
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	var b strings.Builder
	for line := 1; ; {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		if tok != token.STRING && tok != token.COMMENT {
			continue
		}
		for ; line < file.Line(pos); line++ {
			b.WriteByte('\n')
		}
		b.WriteString(lit + " ")
		line += strings.Count(lit, "\n")
	}
}
