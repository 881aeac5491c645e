"""Annotation records (what each disease has, what each group uses) and patient records (what a batch asks about)."""

from .frequency import Frequency
from .gaf import read_gaf
from .gpad import read_gpad
from .hpoa import read_hpoa
from .loading import load_records
from .model import ASPECTS, Annotation, EvidenceRow, Record, Records
from .patents import read_patents
from .patient_model import BadRecord, PatientInput, PatientRecord
from .patients import read_patients
from .phenopacket import read_phenopacket
from .sec_filings import read_company_facts, read_filings
from .sec_tables import read_sec
from .stix import read_actors
from .tables import TableColumns, read_table_records
from .xbrl_instance import read_instance

__all__ = [
    "ASPECTS",
    "Annotation",
    "BadRecord",
    "EvidenceRow",
    "Frequency",
    "PatientInput",
    "PatientRecord",
    "Record",
    "Records",
    "TableColumns",
    "load_records",
    "read_actors",
    "read_company_facts",
    "read_filings",
    "read_gaf",
    "read_gpad",
    "read_hpoa",
    "read_instance",
    "read_patents",
    "read_patients",
    "read_phenopacket",
    "read_sec",
    "read_table_records",
]
