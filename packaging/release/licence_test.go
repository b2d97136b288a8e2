package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const (
	mit  = "Permission is hereby granted, free of charge, to any person"
	bsd2 = "Redistribution and use in source and binary forms, with or\n // without modification"
	bsd3 = bsd2 + "\n * Neither the\n * name of the author"
)

func TestExpression(t *testing.T) {
	for _, tt := range []struct {
		texts []text
		want  string // or "" for an error
	}{
		{[]text{{"LICENSE", []byte(mit)}}, "MIT"},
		{[]text{{"LICENCE.md", []byte(bsd2)}}, "BSD-2-Clause"},
		{[]text{{"COPYING", []byte(bsd3)}}, "BSD-3-Clause"},
		{[]text{{"LICENSE", []byte("Apache License\n  Version 2.0")}, {"NOTICE", []byte("Copyright Ann")}}, "Apache-2.0"},
		{[]text{{"LICENSE", []byte(bsd3 + "\n" + mit)}, {"internal/hash/LICENSE.txt", []byte(mit)}}, "BSD-3-Clause AND MIT"},
		{[]text{{"LICENSE", []byte("Mozilla Public License Version 2.0 … GNU Affero General Public License")}}, "MPL-2.0"},
		{[]text{{"License", []byte("SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */")}}, "BSD-3-Clause OR GPL-2.0-only"},
		{[]text{{"LICENSE", []byte(mit)}, {"b/LICENSE", []byte("SPDX-License-Identifier: ISC OR GPL-2.0-only")}}, "(ISC OR GPL-2.0-only) AND MIT"},
		{[]text{{"LICENSE", []byte(mit)}, {"LICENSE.docs", []byte("Attribution-ShareAlike 4.0 International")}}, "MIT"},
		{nil, ""},
		{[]text{{"NOTICE", []byte(mit)}}, ""},
		{[]text{{"LICENSE", []byte("ask us")}}, ""},
		{[]text{{"LICENSE", []byte("GNU GENERAL PUBLIC LICENSE Version 3")}}, ""},
		{[]text{{"LICENSE", []byte("GNU AFFERO GENERAL PUBLIC LICENSE")}}, ""},
		{[]text{{"LICENSE", []byte("SPDX-License-Identifier: BUSL-1.1")}}, ""},
	} {
		got, err := expression(tt.texts)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%+v: %q, %v, want %q", tt.texts, got, err, tt.want)
		}
	}
}

// The license of a folder applies if a package in it or below it is linked.
func TestReadTexts(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE": "root", "NOTICE.txt": "notice", "license.go": "package a", "README.md": "read me",
		"zip/hash/LICENSE": "hash", "zip/LICENSE-MIT": "zip", "other/LICENSE": "not linked",
		"page/web/vendor/LICENSE.react": "vendored", "page/page.go": "package page",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	texts, err := readTexts(root, []string{filepath.Join(root, "zip", "hash"), filepath.Join(root, "page")})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range texts {
		names = append(names, x.Name)
	}
	if want := []string{"LICENSE", "NOTICE.txt", "page/web/vendor/LICENSE.react", "zip/LICENSE-MIT", "zip/hash/LICENSE"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// Each module of the program is in the notices, with a license and its text, and in the list of parts.
func TestNoticesAreComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	s, err := readSource(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// With these flags, which scripts/test uses, other tests have compiled nearly everything already.
	r := &release{source: s, root: root, work: t.TempDir(), flags: []string{"-buildvcs=false", "-trimpath"}}
	b, err := r.build(t.Context(), target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.describe(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(r.work, runtime.GOOS+"_"+runtime.GOARCH, "holdfast")
	info, err := buildinfo.ReadFile(file)
	if err != nil || len(info.Deps) < 10 {
		t.Fatalf("%d modules, %v", len(info.Deps), err)
	}
	parts, err := r.sbom(b)
	if err != nil {
		t.Fatal(err)
	}
	_, all, _ := strings.Cut(string(b.notices), line)
	sections := strings.Split(all, "\n"+line)
	for _, d := range info.Deps {
		at := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, d.Path+" "+d.Version+"\nlicence: ") })
		if at < 0 || !strings.Contains(sections[at], "\n--- ") || len(sections[at]) < 500 {
			t.Errorf("%s %s has no licence in the notices", d.Path, d.Version)
		}
		if !strings.Contains(string(parts), `"pkg:golang/`+d.Path+"@"+d.Version+`"`) {
			t.Errorf("%s %s is not in the list of parts", d.Path, d.Version)
		}
	}
	for _, want := range []string{"std go1.", "Mozilla Public License Version 2.0", "source: https://proxy.golang.org/github.com/go-sql-driver/mysql/@v/v", "vendor/LICENSE.preact"} {
		if !strings.Contains(string(b.notices), want) {
			t.Errorf("the notices do not have %q", want)
		}
	}
}
