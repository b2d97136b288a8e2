package markdown

import "strings"

// maxTable is the number of bytes of a table that are laid out together.
const maxTable = 16 << 10

// startTable makes a table of the open paragraph if s is the line below its head.
func (p *blocks) startTable(s string) bool {
	aligns := delimiterRow(s)
	if aligns == nil {
		return false
	}
	text := string(p.leaf.text)
	before := ""
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		before, text = text[:i], text[i+1:]
	}
	if !strings.Contains(text, "|") || len(cells(text)) != len(aligns) {
		return false
	}
	joined := p.leaf.joined
	if before != "" {
		p.leaf.text = []byte(before)
		p.closeLeaf()
		joined = false
	}
	p.leaf = leaf{kind: table, aligns: aligns, joined: joined}
	live := p.live
	p.live = false // the head is complete
	p.row(text)
	p.live = live
	return true
}

// row adds a row to the open table.
func (p *blocks) row(s string) {
	if p.leaf.size += len(s); p.leaf.size > maxTable && !p.live { // a long table continues below a second head
		head, aligns := p.leaf.rows[0], p.leaf.aligns
		p.closeLeaf()
		p.leaf = leaf{kind: table, rows: [][][]span{head}, aligns: aligns, size: len(s)}
	}
	row := make([][]span, len(p.leaf.aligns))
	for i, c := range cells(s) {
		if i < len(row) {
			a := attr{bold: len(p.leaf.rows) == 0}
			row[i] = p.inline(strings.ReplaceAll(c, `\|`, "|"), a)
		}
	}
	p.leaf.rows = append(p.leaf.rows, row)
}

// cells splits a row.
func cells(s string) []string {
	s = strings.Trim(s, " \t")
	s = strings.TrimPrefix(s, "|")
	var out []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '|':
			out = append(out, strings.Trim(s[start:i], " \t"))
			start = i + 1
		}
	}
	if last := strings.Trim(s[start:], " \t"); last != "" {
		out = append(out, last)
	}
	return out
}

// delimiterRow returns the alignments of a row such as |---|:-:|, or nil: how many halves of the room are on the left.
func delimiterRow(s string) []byte {
	if !strings.Contains(s, "-") || strings.Trim(s, "|-: \t") != "" {
		return nil
	}
	var aligns []byte
	for _, c := range cells(s) {
		left, right := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":")
		if t := strings.Trim(c, ":"); t == "" || strings.Trim(t, "-") != "" {
			return nil
		}
		align := byte(0)
		if right {
			align++
			if !left {
				align++
			}
		}
		aligns = append(aligns, align)
	}
	return aligns
}

// layTable lays out a table in at most limit columns. Cells wrap. Where columns cannot be 3 wide, each row becomes a
// list of "head: cell".
func (o *Options) layTable(b block, limit int) [][]span {
	n := len(b.aligns)
	gap := span{" │ ", attr{role: roleDim}}
	cross := "─┼─"
	if o.Style == Plain {
		gap, cross = span{" | ", attr{}}, "-|-"
	}
	widths, room := make([]int, n), limit-3*(n-1)
	if room < 3*n {
		return o.listTable(b, limit)
	}
	for _, row := range b.rows {
		for i, c := range row {
			widths[i] = max(widths[i], spansWidth(c), 3)
		}
	}
	shrink(widths, room)
	var lines [][]span
	for r, row := range b.rows {
		wrapped, height := make([][][]span, n), 1
		for i, c := range row {
			wrapped[i] = wrap(c, widths[i])
			height = max(height, len(wrapped[i]))
		}
		for y := range height {
			var line []span
			for i := range n {
				var cell []span
				if y < len(wrapped[i]) {
					cell = wrapped[i][y]
				}
				pad := widths[i] - spansWidth(cell)
				left := pad * int(b.aligns[i]) / 2
				if i > 0 {
					line = append(line, gap)
				}
				line = append(line, span{strings.Repeat(" ", max(left, 0)), attr{}})
				line = append(line, cell...)
				if i < n-1 {
					line = append(line, span{strings.Repeat(" ", max(pad-left, 0)), attr{}})
				}
			}
			lines = append(lines, line)
		}
		if r == 0 {
			dashes := make([]string, n)
			for i, w := range widths {
				dashes[i] = strings.Repeat(string([]rune(cross)[0]), w)
			}
			lines = append(lines, []span{{strings.Join(dashes, cross), gap.attr}})
		}
	}
	return lines
}

// shrink makes the widest columns narrower until all fit.
func shrink(widths []int, room int) {
	most, total := room+1, room+1
	for total > room {
		most--
		total = 0
		for _, w := range widths {
			total += min(w, most)
		}
	}
	for i, w := range widths {
		if w > most {
			widths[i] = most
			if total < room { // what is left of the division
				widths[i]++
				total++
			}
		}
	}
}

func (o *Options) listTable(b block, limit int) [][]span {
	var lines [][]span
	for r, row := range b.rows[1:] {
		if r > 0 {
			lines = append(lines, nil)
		}
		for i, c := range row {
			item := append(append([]span{}, b.rows[0][i]...), span{": ", attr{}})
			lines = append(lines, wrap(append(item, c...), limit)...)
		}
	}
	if len(b.rows) == 1 {
		for _, c := range b.rows[0] {
			lines = append(lines, wrap(c, limit)...)
		}
	}
	return lines
}
