package docgen

import (
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	drawCount = flag.Int("draw", 4, "how many sentences TestSentences prints, a quarter of each kind")
	drawSeed  = flag.Uint64("drawing", 1, "the number of the draw: the same number draws the same sentences")
	drawAt    = flag.String("draw-at", "../..", "the checkout whose sentences are drawn")

	ends     = regexp.MustCompile(`[.?!]["')]?\s+|\n\s*\n|\n\s*[-*|#]`)
	fiveWord = regexp.MustCompile(`(?:\pL{2,}\P{L}+){4}\pL{2,}`)
	noText   = regexp.MustCompile(`(?i)\b(select|insert|update|delete|create table)\b.*\b(from|into|set|where|\()|^//go:|[{};]\s*$|:=|^\S+\(`)
	fences   = regexp.MustCompile("(?ms)^```.*?^```|^<!--.*?-->|^\\|.*?$|^#.*?$|^    .*?$|!?\\[([^\\]]*)\\]\\([^)]*\\)")
	skipped  = regexp.MustCompile(`testdata/|vendor/|_test\.go$|CHANGELOG|docs/(texts|glossary)\.md|docs/decisions/|node_modules/`)
	indented = regexp.MustCompile(`(?m)^//?/?\t.*$|^//   .*$`)
)

type sentence struct{ place, text string }

// sentenceSet has the sentences of a checkout by kind.
type sentenceSet map[string][]sentence

// TestSentences draws sentences at random from the messages, help texts, comments and docs of a
// checkout, so that people who do not know the project can say which of them are hard to read:
//
//	go test ./internal/docgen -run TestSentences -v -draw 40 -drawing 7 -draw-at ~/older-checkout
//
// It prints one line for each: its kind, its place and the sentence.
func TestSentences(t *testing.T) {
	out, err := exec.Command("git", "-C", *drawAt, "ls-files", "*.go", "*.md").Output()
	if err != nil {
		t.Skipf("no git checkout in %s: %v", *drawAt, err)
	}
	found := sentenceSet{}
	for name := range strings.FieldsSeq(string(out)) {
		if skipped.MatchString(name) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(*drawAt, name))
		if err != nil {
			continue // it was removed just now
		}
		if strings.HasSuffix(name, ".md") {
			found.add("docs", name, 1, fences.ReplaceAllString(string(source), "$1"))
		} else {
			found.addGo(name, source)
		}
	}
	r := rand.New(rand.NewPCG(*drawSeed, 0))
	for _, kind := range []string{"message", "help", "comment", "docs"} {
		list := found[kind]
		if len(list) == 0 {
			t.Errorf("no sentence of the kind %s", kind)
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, s := range list[:min(*drawCount/4, len(list))] {
			t.Logf("%s\t%s\t%s", kind, s.place, s.text)
		}
	}
}

// addGo adds the comments and the strings of a file. A comment on several lines is one text.
func (found sentenceSet) addGo(name string, source []byte) {
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	var comment strings.Builder
	first, last, code := 0, 0, 0 // lines of the comment, and the last line of code
	flush := func() {
		text := strings.ReplaceAll(indented.ReplaceAllString(comment.String(), "\n"), "// ", "")
		found.add("comment", name, first, strings.ReplaceAll(text, "//", ""))
		comment.Reset()
	}
	for {
		pos, tok, lit := s.Scan()
		line := file.Line(pos)
		if tok == token.COMMENT {
			if line != last+1 || line == code {
				flush()
				first = line
			}
			comment.WriteString(lit + "\n")
			last = line
			continue
		}
		code = line
		if tok == token.EOF {
			flush()
			return
		}
		if tok != token.STRING {
			continue
		}
		text, err := strconv.Unquote(lit)
		switch {
		case err != nil:
		case strings.HasPrefix(name, "internal/cli/") && (lit[0] == '`' || strings.HasSuffix(text, ".")):
			found.add("help", name, line, text)
		case lit[0] == '"':
			found.add("message", name, line, text)
		}
	}
}

// add keeps the sentences of a text that have at least five words.
func (found sentenceSet) add(kind, name string, line int, text string) {
	at := 0
	for at <= len(text) {
		end := len(text)
		if m := ends.FindStringIndex(text[at:]); m != nil {
			end = at + m[1]
		}
		s := strings.Join(strings.Fields(text[at:end]), " ")
		if strings.Count(s, " ") >= 4 && fiveWord.MatchString(s) && !noText.MatchString(s) {
			found[kind] = append(found[kind], sentence{fmt.Sprintf("%s:%d", name, line+strings.Count(text[:at], "\n")), s})
		}
		at = end + 1
		if end < len(text) {
			at = end
		}
	}
}
