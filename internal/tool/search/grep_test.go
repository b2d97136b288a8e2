//go:build unix

package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/tool/search"
)

// everyGrep runs a test with our own search and, when there is one, with ripgrep.
func everyGrep(t *testing.T, test func(t *testing.T, opts *search.Options)) {
	t.Run("go", func(t *testing.T) { test(t, &search.Options{Ripgrep: "none"}) })
	t.Run("ripgrep", func(t *testing.T) {
		s, err := search.New(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if search.Ripgrep(s) == "none" {
			testneed.Need(t, "no rg on the PATH: apt-get install ripgrep makes this run")
		}
		test(t, &search.Options{Ripgrep: search.Ripgrep(s)})
	})
}

func TestGrep(t *testing.T) {
	everyGrep(t, func(t *testing.T, opts *search.Options) {
		w := newTree(t, opts,
			"a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\ntwo again\n",
			"b/crlf.txt", "\xEF\xBB\xBFtwo\r\nTwo\r\nlast two",
			"b/code.go", "package b\n\nfunc Two() {\n\treturn\n}\n",
			"bin.dat", "two\x00two", "shot.png", "two", ".hide", "two", ".hidden/x", "two", "node_modules/x", "two",
			"out/x", "two", ".gitignore", "/out/\n", "empty.txt", "", "end.txt", "x\n\n\n",
			"c/latin.txt", "caf\xe9 two\n",
		)
		for _, tt := range []struct{ in, want string }{
			{`{"pattern":"two"}`, "a.txt\nb/crlf.txt\nc/latin.txt"},
			{`{"pattern":"two","output_mode":"count"}`, "a.txt:2\nb/crlf.txt:2\nc/latin.txt:1\n[5 matching lines in 3 files]"},
			{`{"pattern":"two","output_mode":"content"}`, "a.txt:2:two\na.txt:8:two again\nb/crlf.txt:1:two\nb/crlf.txt:3:last two\nc/latin.txt:1:caf\uFFFD two"},
			{`{"pattern":"two$","output_mode":"content","-i":true,"path":"b"}`, "b/crlf.txt:1:two\nb/crlf.txt:2:Two\nb/crlf.txt:3:last two"},
			{`{"pattern":"^two","output_mode":"content","-n":false,"path":"a.txt"}`, "a.txt:two\na.txt:two again"},
			{`{"pattern":"five","output_mode":"content","-C":1}`, "a.txt-4-four\na.txt:5:five\na.txt-6-six"},
			{`{"pattern":"one|four","output_mode":"content","-A":1}`, "a.txt:1:one\na.txt-2-two\n--\na.txt:4:four\na.txt-5-five"},
			{`{"pattern":"one|three","output_mode":"content","-C":1}`, "a.txt:1:one\na.txt-2-two\na.txt:3:three\na.txt-4-four"},
			{`{"pattern":"one|four","output_mode":"content","-B":2}`, "a.txt:1:one\na.txt-2-two\na.txt-3-three\na.txt:4:four"},
			{`{"pattern":"one|package","output_mode":"content","-A":1}`, "a.txt:1:one\na.txt-2-two\n--\nb/code.go:1:package b\nb/code.go-2-"},
			{`{"pattern":"two","glob":"*.go","-i":true}`, "b/code.go"},
			{`{"pattern":"two","glob":"!*.txt","-i":true}`, "b/code.go"},
			{`{"pattern":"two","glob":"b/**"}`, "b/crlf.txt"},
			{`{"pattern":"two","type":"go","-i":true}`, "b/code.go"},
			{`{"pattern":"two","head_limit":1}`, "a.txt\n[only the first 1 lines are shown; narrow the search or increase head_limit]"},
			{`{"pattern":"func.*return","multiline":true,"output_mode":"content"}`, "b/code.go:3:func Two() {\nb/code.go:4:\treturn"},
			{`{"pattern":"func.*return","multiline":true,"output_mode":"count"}`, "b/code.go:2\n[2 matching lines in 1 files]"},
			{`{"pattern":"func.*return"}`, `No files matched the pattern "func.*return"`},
			{`{"pattern":"Two..\\s+.return"}`, `No files matched the pattern "Two..\\s+.return"`}, // \s does not leave the line
			{`{"pattern":"a\\s*two"}`, `No files matched the pattern "a\\s*two"`},
			{`{"pattern":"\\Atwo\\z","output_mode":"content"}`, "a.txt:2:two\nb/crlf.txt:1:two"},
			{`{"pattern":"^$","output_mode":"content","path":"end.txt"}`, "end.txt:2:\nend.txt:3:"},
			{`{"pattern":"^$","output_mode":"count"}`, "b/code.go:1\nend.txt:2\n[3 matching lines in 2 files]"},
			{`{"pattern":"two","path":".hidden"}`, ".hidden/x"}, // named, so wanted
			{`{"pattern":"two","path":".hide","output_mode":"content"}`, ".hide:1:two"},
			{`{"pattern":"two","path":"out"}`, "out/x"},
			{`{"pattern":"-v","output_mode":"count"}`, `No matches found for pattern "-v"`},
			{`{"pattern":"caf\\W","output_mode":"count"}`, "c/latin.txt:1\n[1 matching lines in 1 files]"},
		} {
			got, isError := w.call(w.grep, tt.in)
			if isError || got != tt.want {
				t.Errorf("%s\n got %q\nwant %q", tt.in, got, tt.want)
			}
		}
		for in, want := range map[string]string{
			`{"pattern":"two","path":"bin.dat"}`:                           "binary file",
			`{"pattern":"two","path":"nope"}`:                              "Directory not found",
			`{"pattern":"(?=x)"}`:                                          "Invalid regular expression",
			`{"pattern":"x","type":"cobol"}`:                               `unknown type "cobol", want one of c, cpp`,
			`{"pattern":"x","output_mode":"lines"}`:                        `output_mode "lines"`,
			`{"pattern":"x","-A":-1}`:                                      "must not be negative",
			`{"pattern":"x","glob":"["}`:                                   "invalid glob",
			`{"pattern":"x","glob":"` + strings.Repeat("{a,*}", 30) + `"}`: "more than 256 alternatives",
			`{"pattern":"x","output_mode":"content","n":1}`:                `unknown fields ["n"]`,
		} {
			if got, isError := w.call(w.grep, in); !isError || !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q", in, got, want)
			}
		}
	})
}

func TestGrepLongLines(t *testing.T) {
	w := newTree(t, nil, "min.js", strings.Repeat("é", 1000)+"NEEDLE"+strings.Repeat("x", 1000)+"\nNEEDLE"+strings.Repeat("y", 1000))
	got, _ := w.call(w.grep, `{"pattern":"NEEDLE","output_mode":"content"}`)
	lines := strings.Split(got, "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "min.js:1:…é") || !strings.Contains(lines[0], "éNEEDLEx") || !strings.HasSuffix(lines[0], "x…") {
		t.Errorf("got %q", got)
	}
	for _, l := range lines {
		if len(l) > 520 {
			t.Errorf("%d bytes", len(l))
		}
	}
}

func TestGrepManyFiles(t *testing.T) {
	everyGrep(t, func(t *testing.T, opts *search.Options) {
		var files []string
		for i := range 600 { // more than one batch
			files = append(files, fmt.Sprintf("d%d/f%03d.txt", i%7, i), fmt.Sprintf("number %d\n", i))
		}
		w := newTree(t, opts, files...)
		got, _ := w.call(w.grep, `{"pattern":"99$"}`)
		if want := "d0/f399.txt\nd1/f099.txt\nd2/f499.txt\nd3/f199.txt\nd4/f599.txt\nd5/f299.txt"; got != want {
			t.Errorf("got %q", got)
		}
		got, _ = w.call(w.grep, `{"pattern":"number","output_mode":"content"}`)
		if n := strings.Count(got, ":1:number"); n != 250 || !strings.HasSuffix(got, "[only the first 250 lines are shown; narrow the search or increase head_limit]") {
			t.Errorf("%d lines", n)
		}
		got, _ = w.call(w.grep, `{"pattern":"number","head_limit":0}`)
		if n := strings.Count(got, ".txt"); n != 600 {
			t.Errorf("%d files", n)
		}
	})
}
