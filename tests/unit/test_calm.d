test_calm: test_calm.c unit.h sim.h ../harness/harness.h \
 ../harness/../../modoae/link/conn.h ../harness/../../modoae/link/path.h \
 ../harness/../../modoae/link/link.h \
 ../harness/../../modoae/link/oae_types.h \
 ../harness/../../modoae/link/xxh64.h \
 ../harness/../../modoae/link/frame.h \
 ../harness/../../modoae/link/../../include/oae_wire.h \
 ../harness/../../modoae/link/causes.h \
 ../harness/../../modoae/link/notes.h \
 ../harness/../../modoae/link/pathloss.h
