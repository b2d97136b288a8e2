package main

import (
	"fmt"
	"html"
	"strings"
)

const (
	lineHeight = 20
	charWidth  = 8.43
	pad        = 16
	bar        = 30
	endPause   = 5.0 // seconds for which the end remains visible
)

const style = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d8dee6;white-space:pre}` +
	`.b{font-weight:700}.d{opacity:.66}.c1{fill:#ff7b72}.c2{fill:#7ee787}.c3{fill:#e3b341}.c4{fill:#79c0ff}.c5{fill:#d2a8ff}.c6{fill:#56d4dd}`

// draw returns the SVG. Each line is in it once for each of its frames and becomes
// visible at its time; the screen scrolls by moving all lines. A reader who has asked
// for less motion sees the end.
func draw(sc recording, lines [][]frame) []byte {
	rows := min(sc.rows, len(lines))
	total := endPause
	for _, l := range lines {
		for _, f := range l {
			total = max(total, f.at+endPause)
		}
	}
	percent := func(at float64) float64 { return 100 * at / total }
	scroll := []string{"0%{transform:none}"}
	var body, css strings.Builder
	n := 0
	for i, frames := range lines {
		if over := i + 1 - rows; over > 0 && len(frames) > 0 {
			scroll = append(scroll, fmt.Sprintf("%.2f%%{transform:translateY(-%dpx)}", percent(frames[0].at), over*lineHeight))
		}
		for k, f := range frames {
			text := spans(f.spans)
			if text == "" {
				continue
			}
			n++
			from, hidden := percent(f.at), ""
			if k+1 < len(frames) { // replaced later
				to := percent(frames[k+1].at)
				fmt.Fprintf(&css, "@keyframes l%d{0%%,%.2f%%{visibility:hidden}%.2f%%{visibility:visible}%.2f%%,100%%{visibility:hidden}}", n, from, from+.01, to)
				hidden = ` visibility="hidden"`
			} else {
				fmt.Fprintf(&css, "@keyframes l%d{0%%,%.2f%%{visibility:hidden}%.2f%%,100%%{visibility:visible}}", n, from, from+.01)
			}
			fmt.Fprintf(&body, `<text x="%d" y="%d" style="animation-name:l%d"%s>%s</text>`+"\n", pad, pad+bar+i*lineHeight+14, n, hidden, text)
		}
	}
	fmt.Fprintf(&css, "text,g g{animation:%.1fs step-end infinite}g g{animation-name:up}@keyframes up{%s}", total, strings.Join(scroll, ""))
	fmt.Fprintf(&css, "@media(prefers-reduced-motion:reduce){text,g g{animation:none}g g{transform:translateY(-%dpx)}}", (len(lines)-rows)*lineHeight)

	var out strings.Builder
	w, h := float64(sc.columns)*charWidth+2*pad, rows*lineHeight+2*pad+bar
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&out, "<title>%s</title>\n<style>%s%s</style>\n", html.EscapeString(sc.title), style, css.String())
	fmt.Fprint(&out, `<rect width="100%" height="100%" rx="8" fill="#161b22"/><g fill="#3d444d"><circle cx="20" cy="18" r="6"/><circle cx="40" cy="18" r="6"/><circle cx="60" cy="18" r="6"/></g>`+"\n")
	fmt.Fprintf(&out, `<clipPath id="s"><rect x="0" y="%d" width="100%%" height="%d"/></clipPath><g clip-path="url(#s)"><g>`+"\n%s</g></g></svg>\n", pad+bar-2, rows*lineHeight+6, body.String())
	return []byte(out.String())
}

// spans returns a line's content; neighbors of one style are one element.
func spans(all []span) string {
	var out strings.Builder
	for i := 0; i < len(all); {
		class, text := all[i].class, ""
		for ; i < len(all) && all[i].class == class; i++ {
			text += all[i].text
		}
		if class == "" {
			out.WriteString(html.EscapeString(text))
		} else {
			fmt.Fprintf(&out, `<tspan class="%s">%s</tspan>`, class, html.EscapeString(text))
		}
	}
	return strings.TrimRight(out.String(), " ")
}
