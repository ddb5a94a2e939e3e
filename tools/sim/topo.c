// SPDX-License-Identifier: GPL-2.0
/* The network's shape. See topo.h. */
#include <stdlib.h>
#include "topo.h"
#include "sim.h"

static const char *const names[] = {
	[TOPO_PAIR] = "pair",
	[TOPO_RING] = "ring",
	[TOPO_STAR] = "star",
	[TOPO_TORUS] = "torus",
	[TOPO_MESH] = "mesh",
};

/**
 * topo_name() - the name of a shape
 * @kind: which
 *
 * Return: the name, as the option is called.
 */
const char *topo_name(enum topo_kind kind)
{
	return names[kind];
}

/* Links along a line of nodes that closes to a ring: two nodes have one. */
static u64 around(u64 nodes)
{
	return nodes > 2 ? nodes : nodes - 1;
}

/**
 * topo_count() - how many links a network will have
 * @c: the options
 *
 * Return: links.
 */
u64 topo_count(const struct config *c)
{
	u64 n = c->width;

	switch (c->topo) {
	case TOPO_RING:
		return around(n);
	case TOPO_TORUS:
		return around(n) * c->height + around(c->height) * n;
	case TOPO_MESH:
		return n * (n - 1) / 2;
	default:
		return n - 1;
	}
}

static void add(struct topo *t, u32 a, u32 b)
{
	t->join[t->links][0] = a;
	t->join[t->links++][1] = b;
}

/* To the right and down, where that is another node and not joined yet. */
static void add_torus(struct topo *t, u32 x, u32 y, u32 width, u32 height)
{
	u32 me = y * width + x;

	if (x + 1 < width || width > 2)
		add(t, me, y * width + (x + 1) % width);
	if (y + 1 < height || height > 2)
		add(t, me, (y + 1) % height * width + x);
}

static void add_links(struct topo *t, const struct config *c)
{
	u32 i, j;

	switch (c->topo) {
	case TOPO_PAIR:
	case TOPO_STAR:
		for (i = 1; i < t->nodes; i++)
			add(t, 0, i);
		break;
	case TOPO_MESH:
		for (i = 0; i < t->nodes; i++)
			for (j = i + 1; j < t->nodes; j++)
				add(t, i, j);
		break;
	default:
		for (j = 0; j < c->height; j++)
			for (i = 0; i < c->width; i++)
				add_torus(t, i, j, c->width, c->height);
	}
}

/**
 * topo_init() - lay the links
 * @t: the network
 * @c: the options
 */
void topo_init(struct topo *t, const struct config *c)
{
	u32 i, node, *fill;

	t->nodes = c->width * c->height;
	t->links = 0;
	t->join = need(calloc(topo_count(c), sizeof(*t->join)));
	add_links(t, c);

	t->first = need(calloc(t->nodes + 2, sizeof(*t->first)));
	t->ends = need(calloc(2 * t->links, sizeof(*t->ends)));
	for (i = 0; i < 2 * t->links; i++)
		t->first[topo_node(t, i) + 2]++;
	for (i = 2; i < t->nodes + 2; i++)
		t->first[i] += t->first[i - 1];
	/* first[n + 1] moves up to where the ends of n + 1 begin. */
	fill = t->first + 1;
	for (i = 0; i < 2 * t->links; i++) {
		node = topo_node(t, i);
		t->ends[fill[node]++] = i;
	}
}

/**
 * topo_free() - free what topo_init() made
 * @t: the network
 */
void topo_free(struct topo *t)
{
	free(t->join);
	free(t->first);
	free(t->ends);
}

/**
 * topo_link() - the link that joins two nodes
 * @t: the network
 * @a: a node
 * @b: another
 *
 * Return: its number, TOPO_NO_LINK if there is none.
 */
u32 topo_link(const struct topo *t, u32 a, u32 b)
{
	u32 i;

	if (a >= t->nodes || b >= t->nodes)
		return TOPO_NO_LINK;
	for (i = t->first[a]; i < t->first[a + 1]; i++)
		if (topo_node(t, t->ends[i] ^ 1) == b)
			return t->ends[i] >> 1;
	return TOPO_NO_LINK;
}
