package gen

import (
	"fmt"
	"strconv"
)

func (c *chainRun) receipt(process int64, n *chainNode, which int) {
	if which >= len(c.past) {
		return
	}
	t := c.past[which]
	asked := strconv.Quote(t.hash)
	if !n.head.canon || t.block.n > n.head.n || c.planted("receipt-missing", c.final && t.block.n < c.tip().n-4) {
		c.ask(process, n, "receipt", asked, "nil", "")
		return
	}
	c.ask(process, n, "receipt", asked, t.receipt(0, 0), "")
	if c.planted("receipt-changed", true) {
		c.ask(process, n, "receipt", asked, t.receipt(0, 7), "")
	}
	if c.planted("index-mismatch", true) {
		c.ask(process, n, "receipt", asked, t.receipt(1, 0), "")
	}
}

func (t *chainTx) receipt(shift, gas int) string {
	logs := ""
	if t.log >= 0 {
		logs = fmt.Sprintf("[%d \"0x%040x\" \"0x%064x\" \"0x%064x\"]", t.log, 0x106, 0xe317, t.element)
	}
	return fmt.Sprintf("{:n %d :h %q :i %d :status 1 :from \"0x%040x\" :gas %d :logs [%s]}", t.block.n, t.block.h, t.i+shift, 0xa0000+t.from, 21000+gas, logs)
}

func (c *chainRun) body(process int64, n *chainNode) {
	b := n.head
	for range c.r.IntN(4) {
		if b.parent != nil {
			b = b.parent
		}
	}
	if b.n > 0 {
		c.bodyOf(process, n, b)
	}
}

func (c *chainRun) bodyOf(process int64, n *chainNode, b *chainBlk) {
	txs := ""
	for i, t := range b.txs {
		if i > 0 {
			txs += " "
		}
		txs += `"` + t.hash + `"`
	}
	asked := strconv.FormatInt(b.n, 10)
	c.ask(process, n, "body", asked, b.header(b.root)+" :txs ["+txs+"]}", "")
	if c.planted("body-changed", len(b.txs) > 0 && !c.final) {
		c.ask(process, n, "body", asked, b.header(b.root)+" :txs []}", "")
	}
}

func (c *chainRun) logs(process int64, n *chainNode) {
	b := n.head
	for range c.r.IntN(3) {
		if b.parent != nil {
			b = b.parent
		}
	}
	if c.r.IntN(2) == 0 && c.o.Reorg == 0 {
		from := b
		for range 3 {
			if from.parent != nil {
				from = from.parent
			}
		}
		c.logsOf(process, n, fmt.Sprintf(":from %d :to %d", from.n, b.n), c.blocks[from.n:b.n+1])
		return
	}
	c.logsOf(process, n, fmt.Sprintf(":at %q", b.h), []*chainBlk{b})
}

func (c *chainRun) logsOf(process int64, n *chainNode, query string, blocks []*chainBlk) {
	var rows []string
	for _, b := range blocks {
		for i, t := range b.txs {
			if b.log[i] >= 0 {
				row := fmt.Sprintf("[%d %q %d %q %d]", b.n, b.h, b.log[i], t.hash, t.element)
				// Lies are about what the sender was told.
				can := t.told && len(blocks) == 1
				switch {
				case c.planted("log-missing", can):
					continue
				case c.planted("log-wrong", can):
					row = fmt.Sprintf("[%d %q %d %q %d]", b.n, b.h, b.log[i], t.hash, t.element+1)
				case c.planted("log-repeated", t.told):
					rows = append(rows, row)
				}
				rows = append(rows, row)
			}
		}
	}
	list := ""
	for i, row := range rows {
		if i > 0 {
			list += " "
		}
		list += row
	}
	c.ask(process, n, "logs", "{"+query+"}", "{"+query+" :logs ["+list+"]}", "")
}

func (c *chainRun) callAt(process int64, n *chainNode) {
	b := n.head
	for range c.r.IntN(3) {
		if b.parent != nil {
			b = b.parent
		}
	}
	k := c.r.IntN(2)
	say := func(v int) {
		text := "nil"
		if v > 0 {
			text = strconv.Itoa(v)
		}
		c.ask(process, n, "call-at", fmt.Sprintf("[%q %d]", b.h, k), fmt.Sprintf("[%q %d %s]", b.h, k, text), "")
	}
	say(b.puts[k])
	if c.planted("call-at-changed", true) {
		say(b.puts[k] + 1)
	}
}

func (c *chainRun) account(process int64, n *chainNode, sender int) {
	b := n.head
	nonce := b.nonces[sender]
	if c.planted("account-nonce", c.final && nonce > 0) {
		nonce--
	}
	c.ask(process, n, "account", fmt.Sprintf("\"0x%040x\"", 0xa0000+sender), fmt.Sprintf("{:nonce %d :balance \"1000\"}", nonce), " :tag :latest"+place(b))
}
