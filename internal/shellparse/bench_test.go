package shellparse

import "testing"

var benchLines = []struct{ name, line string }{
	{"word", "ls"},
	{"plain", "go test -count=1 -run TestSomething -timeout 30s ./internal/store/... ./internal/session/... -v -x"},
	{"quoted", `git commit -m "store: keep what was written before the crash" --author 'A B <a@b.c>' --no-verify -q -s`},
	{"compound", "cd x && go test ./... 2>&1 | tail -5"},
	{"loop", `for f in a b c; do sed -n 1,5p "$f" | grep -c x; done`},
	{"nested", `bash -c 'cd /x && find . -name "*.go" -exec grep -l x {} +'`},
}

func BenchmarkParse(b *testing.B) {
	o := &Options{Dir: "/home/u/project", Home: "/home/u"}
	for _, bb := range benchLines {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Parse(bb.line, o)
			}
		})
	}
}
