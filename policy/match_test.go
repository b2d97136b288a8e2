package policy

import (
	"slices"
	"strings"
	"testing"
)

func TestLinePatterns(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{ // lines, separated by "|"
		{"ls", "ls", "ls -l|lsof|l||LS"},
		{"ls:*", "ls|ls -l|ls\t-l|ls\n-l", "lsof|l|/ls|xls"},
		{"ls *", "ls|ls -l", "lsof"},
		{"ls  *", "ls|ls -l", "lsof"},
		{"ls*", "ls|lsof|ls -l", "l"},
		{"git * main", "git x main|git a b main", "git main|git x mainly|git x main y"},
		{"* --help *", "a --help|a --help b|x y --help z", "a --helpful|--help"},
		{"a*b*c:*", "abc|a1b2c|abc d|abcb c", "abcd|ab d e|ac"},
		{"a**b", "ab|axb", "a"},
		{"ls  -l", "ls -l", "ls  -l"},
		{`a\:*b`, "a:b|a:xb", "ab"},
	} {
		p, m := newLinePattern(c.pattern, nil)
		if m != nil {
			t.Error(m)
			continue
		}
		for line := range strings.SplitSeq(c.yes, "|") {
			if !p.match(line) {
				t.Errorf("%q does not match %q: %+v", c.pattern, line, p)
			}
		}
		for line := range strings.SplitSeq(c.no, "|") {
			if p.match(line) {
				t.Errorf("%q matches %q: %+v", c.pattern, line, p)
			}
		}
	}
}

func TestStartsWithAssignment(t *testing.T) {
	for line, want := range map[string]bool{"A=1 x": true, "_a1=": true, "a b=c": false, "=x": false, "1A=x": false, "a-b=c": false, "": false, "x": false} {
		if got := startsWithAssignment(line); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
}

func TestHostPatterns(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"x.org", "x.org", "a.x.org xx.org x.org.evil"},
		{"X.Org.", "x.org", ""},
		{"*.x.org", "a.x.org a.b.x.org", "x.org ax.org .x.org"},
		{"*", "a b.c", ""},
		{"a*.org", "a.org ab.org", "a.b.org org"},
		{"a.*.org", "a.b.org", "a.b.c.org a.org"},
		{"*.a*.org", "x.a.org x.y.ab.org", "a.org x.b.org"},
		{"127.0.0.1", "127.0.0.1", "127.0.0.11"},
		{"[::1]", "::1", "::11"},
		{"localhost", "localhost", "localhost.x"},
	} {
		p, m := newHostPattern(c.pattern)
		if m != nil {
			t.Error(m)
			continue
		}
		for h := range strings.FieldsSeq(c.yes) {
			if !p.match(h) {
				t.Errorf("%s does not match %s", c.pattern, h)
			}
		}
		for h := range strings.FieldsSeq(c.no) {
			if p.match(h) {
				t.Errorf("%s matches %s", c.pattern, h)
			}
		}
	}
}

func TestHostOf(t *testing.T) {
	for resource, want := range map[string]string{
		"x.org": "x.org", "X.ORG.": "x.org", "x.org:443": "x.org", "https://x.org/a?b#c": "x.org",
		"https://good.org@x.org/": "x.org", `https://x.org\@good.org/`: "x.org", "https://x.org?@good.org": "x.org",
		"[::1]:80": "::1", "::1": "::1", "[::1]": "::1", "": "", "http://": "", "http://u:p@x.org:8/": "x.org",
	} {
		if got := hostOf(resource); got != want {
			t.Errorf("%q: %q, want %q", resource, got, want)
		}
	}
}

func TestSplitParam(t *testing.T) {
	for spec, want := range map[string][]string{
		"a:b": {"a", "b"}, "a_1-x: b:c ": {"a_1-x", "b:c"}, "a:": nil, ":b": nil, "a b:c": nil, "a": nil, "1a:b": nil, "": nil,
	} {
		name, value, ok := splitParam(spec)
		if ok != (want != nil) || ok && !slices.Equal([]string{name, value}, want) {
			t.Errorf("%q: %q %q %t", spec, name, value, ok)
		}
	}
}

func TestReadParams(t *testing.T) {
	for _, c := range []struct {
		input   string
		unclear bool
		names   string
	}{
		{``, false, ""},
		{` `, false, ""},
		{`{}`, false, ""},
		{`{"a":1,"a":"x","b":[{"c":2}]}`, false, "a a b"},
		{`[]`, true, ""},
		{`"x"`, true, ""},
		{`{"a":1`, true, "a"},
		{`{"a"`, true, ""},
		{`{"a":tru}`, true, ""},
		{`nonsense`, true, ""},
	} {
		p := readParams([]byte(c.input))
		var names []string
		for _, had := range p.list {
			names = append(names, had.name)
		}
		if p.unclear != c.unclear || strings.Join(names, " ") != c.names {
			t.Errorf("%q: %+v", c.input, p)
		}
	}
}

func TestLinesOfACommand(t *testing.T) {
	for line, want := range map[string][]string{
		"rm x":              {"rm x"},
		"/bin/rm x":         {"/bin/rm x", "rm x"},
		`rm "a b"`:          {"rm 'a b'", `rm "a b"`, "rm a b"},
		"git -C d push":     {"git -C d push", "git d push", "git push"},
		"git -p push x":     {"git -p push x", "git push x", "git x"},
		"cargo +beta build": {"cargo +beta build", "cargo build"},
		"git push $A $B":    {"git push $A $B", "git push"},
		"git $A push":       {"git $A push"},
	} {
		s := newRequestView(bash(line), "", nil)
		if len(s.lines) != 1 || !slices.Equal(s.lines[0], want) {
			t.Errorf("%s: %q, want %q", line, s.lines, want)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("ls *", "ls -la", "a/**", "/w/a/b")
	f.Add("git * main:*", "git x main y", "{a,b}/[c-d]*", "/w/b/c")
	f.Add(`a\*b*`, "a*b", "**/.env*", "/.env.local")
	f.Fuzz(func(t *testing.T, spec, line, pattern, file string) {
		if p, m := newLinePattern(spec, nil); m == nil {
			hit := p.match(line)
			if p.exact && hit && line != p.parts[0] {
				t.Errorf("exact %q matches %q", spec, line)
			}
			if hit && p.word && !p.match(line+" more") {
				t.Errorf("prefix %q matches %q and not more of it", spec, line)
			}
			if hit && !strings.HasPrefix(line, p.parts[0]) {
				t.Errorf("%q matches %q", spec, line)
			}
		}
		if h, m := newHostPattern(spec); m == nil {
			h.match(hostOf(line))
		}
		path := absolute(file, "/w")
		if path == "" {
			return
		}
		for _, forbids := range []bool{false, true} {
			g, err := pathGlob(pattern, "/w", "/home/u", forbids)
			if err != nil {
				continue
			}
			if g.match(path) {
				if _, in := under(g.base, path); !in {
					t.Errorf("%q matches %s, which is not below %s", pattern, path, g.base)
				}
				if forbids && path != "/" && !g.match(path+"/below") {
					t.Errorf("%q matches %s and not what is below", pattern, path)
				}
				if _, perhaps := g.reaches("/"); !perhaps {
					t.Errorf("%q matches %s and reaches nothing", pattern, path)
				}
			}
		}
	})
}

// A host matches in every form it can be written in. A host that clients may take for another is not
// compared as text.
func TestEncodedHosts(t *testing.T) {
	judgeAll(t, []string{"deny WebFetch(domain:127.0.0.1)"}, []judged{
		{fetch("127.0.0.1"), Deny},
		{fetch("http://127.1/x"), Deny},
		{fetch("2130706433"), Deny},
		{fetch("0x7f.0.0.1"), Deny},
		{fetch("0177.0.0.01"), Deny},
		{fetch("[::ffff:127.0.0.1]:80"), Deny},
		{fetch("::ffff:7f00:1"), Deny},
		{fetch("127.0.0.2"), NoOpinion},
		{fetch("127.0.0.1.example.org"), NoOpinion},
		{fetch("1.2.3.4.5"), NoOpinion},
		{fetch("256.1"), NoOpinion},
		{fetch("0b1.1"), NoOpinion},
	})
	judgeAll(t, []string{"deny WebFetch(domain:0:0:0:0:0:0:0:1)"}, []judged{
		{fetch("[::1]"), Deny},
		{fetch("https://[::1%25eth0]:8/"), Deny},
		{fetch("[::2]"), NoOpinion},
	})
	judgeAll(t, []string{"deny WebFetch(domain:evil.org)"}, []judged{
		{fetch("EVIL.org."), Deny},
		{fetch("https://good.org@evil.org/"), Deny},
		{fetch("\uff45vil.org"), Ask},
		{fetch("%65vil.org"), Ask},
		{fetch("evil\u3002org"), Ask},
		{fetch("evil.org.."), Ask},
	})
	judgeAll(t, []string{"allow WebFetch(domain:*)"}, []judged{{fetch("\uff45vil.org"), NoOpinion}, {fetch("a.org"), Allow}})
}
