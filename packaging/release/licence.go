package main

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// licences identifies license texts by phrases. Of the BSD licenses only the first match counts, so
// the more specific ones come first.
var licences = []struct {
	id    string
	words []string
}{
	{"MPL-2.0", []string{"mozilla public license", "2.0"}},
	{"AGPL-3.0-only", []string{"gnu affero general public license"}},
	{"LGPL-3.0-only", []string{"gnu lesser general public license"}},
	{"GPL-3.0-only", []string{"gnu general public license"}},
	{"EPL-2.0", []string{"eclipse public license"}},
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "may not be used to endorse"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"MIT", []string{"permission is hereby granted, free of charge"}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose", "provided that the above copyright notice"}},
	{"ISC", []string{"permission to use, copy, modify, and distribute this software for any purpose", "provided that the above copyright notice"}},
	{"0BSD", []string{"permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}},
	{"CC0-1.0", []string{"cc0 1.0 universal"}},
	{"Zlib", []string{"this software is provided 'as-is'", "altered source versions"}},
}

// allowed are the licenses that linked modules may have.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "Zlib"}

var (
	space      = regexp.MustCompile(`[\s#*/]+`)
	identifier = regexp.MustCompile(`SPDX-License-Identifier: ([A-Za-z0-9. -]*[A-Za-z0-9])`)
)

// licenceIDs returns the names of the licenses in a text. Most texts have one; some modules list those
// of several parts. If the text has an SPDX identifier, the identifier is the result. If the text is
// the Mozilla license, the result is only that license: the others that it names do not apply here.
func licenceIDs(data []byte) (ids []string) {
	if named := identifier.FindSubmatch(data); named != nil {
		return []string{string(named[1])}
	}
	s := strings.ToLower(string(space.ReplaceAll(data, []byte(" "))))
	for _, l := range licences {
		switch {
		case slices.ContainsFunc(l.words, func(w string) bool { return !strings.Contains(s, w) }):
		case l.id == "MPL-2.0":
			return []string{l.id}
		case !strings.HasPrefix(l.id, "BSD-") || !slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, "BSD-") }):
			ids = append(ids, l.id)
		}
	}
	return ids
}

// expression returns the licenses of a module as an expression, from all of its texts. Notices give
// no permission, and a license for a module's documents or logo does not apply to the linked code.
func expression(texts []text) (string, error) {
	var ids []string
	for _, t := range texts {
		base := strings.ToLower(path.Base(t.Name))
		if !strings.HasPrefix(base, "licen") && !strings.HasPrefix(base, "copying") && !strings.HasPrefix(base, "unlicen") ||
			strings.HasSuffix(base, "docs") || strings.HasSuffix(base, "logo") {
			continue
		}
		found := licenceIDs(t.Data)
		if len(found) == 0 && len(bytes.TrimSpace(t.Data)) > 0 {
			return "", fmt.Errorf("unknown licence in %s\nhint: add its words to the list in packaging/release/licence.go", t.Name)
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return "", errors.New("no licence")
	}
	for i, id := range ids {
		choice := strings.Split(id, " OR ")
		if !slices.ContainsFunc(choice, func(id string) bool { return slices.Contains(allowed, id) }) {
			return "", fmt.Errorf("its licence is %s\nhint: remove the module; the list of allowed licences is in packaging/release/licence.go", id)
		}
		if len(choice) > 1 && len(ids) > 1 {
			ids[i] = "(" + id + ")"
		}
	}
	return strings.Join(ids, " AND "), nil
}

const line = "================================================================================\n"

// notices returns the file that accompanies a program: its third-party modules, the URLs of their
// source, and all their licenses and notices.
func notices(b *build, version string) []byte {
	var w bytes.Buffer
	fmt.Fprintf(&w, "holdfast %s for %s contains the software of others, under the licences below.\nThe source of each part is at the address given with it.\n\n", version, b.target)
	for _, m := range b.modules[1:] {
		fmt.Fprintf(&w, "  %-60s %s\n", m.Path+" "+m.Version, m.Licence)
	}
	for _, m := range b.modules {
		texts := m.Texts
		if m.Path == b.modules[0].Path { // LICENSE is in the same folder
			texts = slices.DeleteFunc(slices.Clone(texts), func(t text) bool { return !strings.Contains(t.Name, "/") })
			if len(texts) == 0 {
				continue
			}
		}
		fmt.Fprintf(&w, "\n%s%s %s\nlicence: %s\nsource: %s\n", line, m.Path, m.Version, m.Licence, m.Source)
		for _, t := range texts {
			fmt.Fprintf(&w, "\n--- %s\n\n%s\n", t.Name, bytes.TrimSpace(t.Data))
		}
	}
	return w.Bytes()
}
