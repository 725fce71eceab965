package core

// ranked is an element of a heap: it has a total order and remembers where in
// the heap it is, so that it can be taken out from the middle.
type ranked[T any] interface {
	before(other T) bool
	place() *int // 1 + its index; 0: it is in no heap
}

// heap is a binary heap. The order in which equal inputs come out depends on
// nothing but them: before must be a total order.
type heap[T ranked[T]] struct{ list []T }

func (h *heap[T]) len() int { return len(h.list) }

// top is the first element; the heap must not be empty.
func (h *heap[T]) top() T { return h.list[0] }

func (h *heap[T]) push(x T) {
	if *x.place() != 0 {
		panic("core: an element is pushed on a heap twice")
	}
	h.list = append(h.list, x)
	*x.place() = len(h.list)
	h.up(len(h.list) - 1)
}

func (h *heap[T]) pop() T {
	x := h.list[0]
	h.remove(x)
	return x
}

func (h *heap[T]) remove(x T) {
	i, last := *x.place()-1, len(h.list)-1
	h.swap(i, last)
	var none T
	h.list[last] = none
	h.list = h.list[:last]
	*x.place() = 0
	if i < last {
		h.down(i)
		h.up(i)
	}
}

func (h *heap[T]) swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	*h.list[i].place(), *h.list[j].place() = i+1, j+1
}

func (h *heap[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.list[i].before(h.list[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *heap[T]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.list) {
			return
		}
		if right := child + 1; right < len(h.list) && h.list[right].before(h.list[child]) {
			child = right
		}
		if !h.list[child].before(h.list[i]) {
			return
		}
		h.swap(i, child)
		i = child
	}
}
