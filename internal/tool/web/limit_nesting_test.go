package web

import (
	"net/url"
	"strings"
	"testing"
)

// A page decides neither how long it is worked on nor how much becomes of it: what grew
// with the square of a page, or with a number in it, is in proportion to its size.
func TestPageTimeIsLinear(t *testing.T) {
	u := &url.URL{Scheme: "https", Host: "example.com"}
	for name, page := range map[string]string{
		"quotations":  strings.Repeat("<blockquote>", 300) + strings.Repeat("<p>word", 400),
		"lists":       strings.Repeat("<ul><li>", 200) + strings.Repeat("<p>word", 400),
		"wide column": "<table><tr><td>" + strings.Repeat("x", 2000) + "</td></tr>" + strings.Repeat("<tr><td>word</td></tr>", 100) + "</table>",
		"wide row":    "<table><tr>" + strings.Repeat("<td>x</td>", 300) + "</tr>" + strings.Repeat("<tr><td>word</td></tr>", 300) + "</table>",
		"colspan":     "<table><tr><td colspan=300000>word</td></tr></table>",
		"rowspan":     "<table><tr><td rowspan=300000>word</td></tr></table>",
		"both spans":  "<table><tr><td rowspan=600 colspan=600>word</td></tr></table>",
		"many spans":  "<table><tr>" + strings.Repeat("<td rowspan=100>word</td>", 100) + "</tr>" + strings.Repeat("<tr><td>x", 100) + "</table>",
		"nested":      strings.Repeat("<table><tr><td colspan=300000>", 20) + "word",
		"letters":     "word" + strings.Repeat("*_[", 5000),
	} {
		text, err := markdown(t.Context(), []byte(page), u)
		if err != nil || !strings.Contains(text, "word") || len(text) > 5*len(page)+100_000 || strings.Contains(text, `\`) {
			t.Errorf("%s: %d bytes of HTML became %d of Markdown: %.200q, %v", name, len(page), len(text), text, err)
		}
	}
}

// What people write stays what it is.
func TestLimitNestingKeepsNormalPages(t *testing.T) {
	for page, want := range map[string]string{
		"<ul><li>a<ul><li>b</ul></ul>":                                     "- a\n  \n  - b",
		"<blockquote><blockquote>a":                                        "> > a",
		"<table><tr><th>a<th>b<tr><td colspan=2>c</table>":                 "| a | b |\n|---|---|\n| c |  |",
		"<table><tr><td rowspan=2>a<td>b<tr><td>c</table>":                 "|  |  |\n|---|---|\n| a | b |\n|  | c |",
		"<p>2*3*4 and a_b_c [x]":                                           "2*3*4 and a_b_c [x]",
		"<table><tr><td colspan=99999999>a<td>b<tr><td>c<td>d</table><p>e": "a b\n\nc d\n\ne",
	} {
		text, err := markdown(t.Context(), []byte(page), &url.URL{Scheme: "https", Host: "example.com"})
		if err != nil || strings.TrimSpace(text) != want {
			t.Errorf("%s: %q, %v", page, text, err)
		}
	}
}
